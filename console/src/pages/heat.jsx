import { Head } from "../ui.jsx";
export function Heat() { return <Head title="Heat" />; }
