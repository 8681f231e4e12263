import { Head } from "../ui.jsx";
export function Patterns() { return <Head title="Patterns" />; }
