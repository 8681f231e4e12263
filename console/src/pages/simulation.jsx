import { Head } from "../ui.jsx";
export function Simulation() { return <Head title="Simulation" />; }
