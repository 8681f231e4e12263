export function SampleData() { return null; }
