export function TableInsight() { return null; }
