// An arrow between two points of rows. `head` false: a line, which says no order.

import type {Brush} from './brush';

export function paintArrow(context: Brush, x0: number, y0: number, x1: number, y1: number, head = true): void {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 6) return;
  const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
  const room = head ? 4 : 0;
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1 - dx * room, y1 - dy * room);
  context.stroke();
  if (!head) return;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - dx * 6 - dy * 3, y1 - dy * 6 + dx * 3);
  context.lineTo(x1 - dx * 6 + dy * 3, y1 - dy * 6 - dx * 3);
  context.fill();
}
