import { Head } from "../ui.jsx";
export function Overview() { return <Head title="Overview" />; }
