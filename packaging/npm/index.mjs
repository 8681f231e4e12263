import gramme from './index.js';

export const { start, reset, environment } = gramme;
export default gramme;
