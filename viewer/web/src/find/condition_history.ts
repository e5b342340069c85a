// The conditions that were applied last, newest first; stored in this browser.

const KEY = 'countrace-conditions';
const MOST = 12;

function stored(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(list) ? list.filter((one): one is string => typeof one === 'string').slice(0, MOST) : [];
  } catch {
    return []; // storage is off, or another page wrote it
  }
}

// Those with this text in them, but not the text itself.
export function conditionsLike(text: string): string[] {
  const wanted = text.trim();
  return stored().filter((one) => one !== wanted && one.includes(wanted));
}
export function keepCondition(condition: string): void {
  if (condition === '') return;
  try {
    localStorage.setItem(KEY, JSON.stringify([condition, ...stored().filter((one) => one !== condition)].slice(0, MOST)));
  } catch {
    // Storage is off.
  }
}
