import { Head } from "../ui.jsx";
export function Cost() { return <Head title="Cost" />; }
