import { Head } from "../ui.jsx";
export function Findings() { return <Head title="Findings" />; }
