import { Head } from "../ui.jsx";
export function PartiQL() { return <Head title="PartiQL" />; }
