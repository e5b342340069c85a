// Formats of times, counts and shares.

const THIN = '\u2009'; // between number and unit

// Three significant digits with a unit: "12.3 µs". Exact below 1 µs.
export function formatDuration(value: number): string {
  const size = Math.abs(value);
  const [divisor, unit] =
      size < 1e3 ? [1, 'ns'] as const :
      size < 1e6 ? [1e3, 'µs'] as const :
      size < 1e9 ? [1e6, 'ms'] as const :
                   [1e9, 's'] as const;
  const scaled = value / divisor;
  return `${divisor === 1 ? Math.round(scaled) : significant(scaled)}${THIN}${unit}`;
}

function significant(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

// "1 s shown = 10.00 ms, 100 times slow".
export function formatSpeed(nsPerSecond: number): string {
  return `1${THIN}s shown = ${formatDuration(nsPerSecond)}, ${slownessOf(nsPerSecond)}`;
}
// "100x slow".
export function slownessOf(nsPerSecond: number): string {
  const slow = 1e9 / nsPerSecond;
  const times = (value: number) => value >= 10 ? formatCount(Math.round(value)) : String(Number(value.toPrecision(2)));
  return slow >= 1.05 ? `${times(slow)}\u00d7 slow` : slow <= 0.95 ? `${times(1 / slow)}\u00d7 fast` : 'real time';
}

// An instant, as exactly as the step between neighbours needs: "1.204 512 s"
// with groups of three decimals.
export function formatInstant(value: number, stepNs: number): string {
  if (value < 0) return `-${formatInstant(-value, stepNs)}`;
  const decimals = stepNs >= 1e9 ? 0 : stepNs >= 1e6 ? 3 : stepNs >= 1e3 ? 6 : 9;
  const whole = Math.floor(value / 1e9);
  if (decimals === 0) return `${whole}${THIN}s`;
  const fraction = Math.floor(value - whole * 1e9)
                       .toString()
                       .padStart(9, '0')
                       .slice(0, decimals)
                       .replace(/(\d{3})(?=\d)/g, `$1${THIN}`);
  return `${whole}.${fraction}${THIN}s`;
}

export function formatCount(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, THIN);
}

// Short form for axes and rates: "12.3k".
export function formatShort(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  const [divisor, unit] =
      size < 1e3 ? [1, ''] as const :
      size < 1e6 ? [1e3, 'k'] as const :
      size < 1e9 ? [1e6, 'M'] as const :
                   [1e9, 'G'] as const;
  const scaled = value / divisor;
  const digits = Math.abs(scaled) >= 100 ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  return `${Number(scaled.toFixed(digits))}${unit}`;
}

export function formatPercent(share: number): string {
  const percent = share * 100;
  return `${percent >= 99.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)}${THIN}%`;
}

// Events whose counts are times in ns.
export function isTimeEvent(name: string): boolean {
  return /(^|[^a-z])(task|cpu)-clock|^exec-runtime$|^off-cpu(-waker)?$/.test(name);
}

export function formatEventCount(name: string, value: number): string {
  return isTimeEvent(name) ? formatDuration(value) : formatCount(value);
}

// Rate per second of an event; the rate of a clock is a number of CPUs.
export function formatEventRate(name: string, perSecond: number): string {
  return isTimeEvent(name) ? `${(perSecond / 1e9).toFixed(2)}${THIN}CPU`
                           : `${formatShort(perSecond)}/s`;
}
