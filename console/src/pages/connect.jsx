import { Head } from "../ui.jsx";
export function Connect() { return <Head title="Connect" />; }
