// Messages between hosts, from the lane of the thread that sent to that of the one
// that received: arrows; lines where the clocks do not decide the order.

import {useEffect, useRef, useState} from 'preact/hooks';

import type {Host, Message, MessageEnd} from '../api/schema';
import {processOf, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration} from '../core/units';
import {endNs, toPx} from '../core/viewport';
import type {SharedClock} from '../replay/shared_clock';
import {paintArrow} from '../timeline/paint/arrow';
import type {Lane} from '../timeline/rows/lanes';
import type {Application} from './application';
import type {PairFrame} from './pair_frame';

const MOST = 300; // that are drawn
const REST_MS = 200; // they are loaded when a zoom rests
const NEAR_PX = 4;

export interface HostPage {
  host: Host;
  stage: PairFrame;
  clock: SharedClock;
  text(sharedNs: number): string; // with its bound
}
interface Drawn extends Message {
  waited: number; // ns, until it was received
  within: number; // so far that may be from the truth
  line: readonly [x0: number, y0: number, x1: number, y1: number];
}

// An element of a frame, on this page.
function originOf(frame: HTMLIFrameElement|undefined, inside: string): {x: number; y: number} {
  const [a, b] = [frame, frame?.contentDocument?.querySelector(inside)].map((one) => one?.getBoundingClientRect());
  return {x: (a?.x ?? 0) + (b?.x ?? 0), y: (a?.y ?? 0) + (b?.y ?? 0)};
}

class MessageLayer {
  drawn: readonly Drawn[] = [];
  private answer = {total: 0, messages: [] as readonly Message[]};
  private readonly shown: Application[] = []; // by host, as their frames
  private readonly frames = [...document.querySelectorAll('iframe')];
  private wanted = ''; // of the window
  private timer: ReturnType<typeof setTimeout>|undefined;
  private painting = 0;

  // `say` gets how many are drawn, `point` what is said of the one at a place.
  constructor(private readonly pages: readonly HostPage[], private readonly beginNs: number, private readonly canvas: HTMLCanvasElement,
              private readonly say: (note: string) => void, private readonly point: (lines: readonly string[], x: number, y: number) => void) {
    for (const [host, {stage, clock}] of pages.entries()) stage.observe((app) => {
      const {core: {book, names, view}, timeline: {rows}} = app;
      void [book.value, names.changed.value, view.height.value, view.scrollY.value, rows.lanes.value];
      this.shown[host] = app;
      this.paint();
      const [from, to] = [view.viewport.value.startNs, endNs(view.viewport.value)].map((at) => Math.max(Math.ceil(clock.shared(at) - beginNs), 0));
      if (host === 0) this.want(`api/v1/messages?from=${from}&to=${to}&limit=${MOST}`);
    });
    addEventListener('scroll', () => this.paint(), true);
    for (const frame of [undefined, ...this.frames]) {
      (frame?.contentWindow ?? window).addEventListener('pointermove', ({clientX, clientY}) => {
        const {x, y} = originOf(frame, 'html');
        this.pointAt(x + clientX, y + clientY);
      });
    }
  }

  private want(wanted: string): void {
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const answer = await fetch(wanted).catch(() => null);
      if (!answer?.ok || wanted !== this.wanted) return; // the frames say what is wrong
      this.answer = await answer.json() as MessageLayer['answer'];
      this.paint();
    }, REST_MS);
  }
  private paint(): void {
    cancelAnimationFrame(this.painting);
    this.painting = requestAnimationFrame(() => {
      const lanes = this.shown.map(({timeline}) => new Map(timeline.rows.lanes.peek().map((lane) => [lane.id, lane])));
      this.drawn = this.answer.messages.map((message) => {
        const {sent, received} = message;
        const [from, to] = [this.placeOf(sent, lanes), this.placeOf(received, lanes)];
        const [y0, y1] = from.top < to.top ? [from.bottom, to.top] : [from.top, to.bottom];
        return {...message, waited: received.t - sent.t, within: from.within + to.within, line: [from.x, y0, to.x, y1]};
      });
      this.paintDrawn();
    });
  }
  // The lane of the thread, else of its process; of what is out of sight, the edge
  // of the rows that it is beyond.
  private placeOf({host, thread, t}: MessageEnd, lanes: readonly ReadonlyMap<string, Lane>[]) {
    const [app, page, {x, y}] = [this.shown[host], this.pages[host], originOf(this.frames[host], '.area')];
    if (!app || !page) return {x, top: y, bottom: y, within: 0};
    const {core: {names, view}, timeline: {rows}} = app;
    const lane = lanes[host]?.get(`thread${thread}`) ?? lanes[host]?.get(`process${processOf(names, thread)}`);
    const all = lane ? rows.extentOf(lane, {y: 0, height: lane.height}) : {y: Infinity, height: 0};
    const [top, bottom] = [all.y, all.y + all.height].map((at) => y + Math.min(Math.max(at, 0), view.height.peek())) as [number, number];
    return {x: x + toPx(view.viewport.peek(), page.clock.own(this.beginNs + t)), top, bottom, within: page.host.within_ns};
  }
  private paintDrawn(): void {
    const {canvas, drawn, answer: {total, messages}} = this;
    const [context, ratio, core] = [canvas.getContext('2d'), devicePixelRatio || 1, this.shown[0]?.core];
    [canvas.width, canvas.height] = [innerWidth * ratio, innerHeight * ratio]; // which clears it
    if (!context || !core) return;
    context.scale(ratio, ratio);
    context.rect(originOf(this.frames[0], '.area').x, 0, core.view.viewport.peek().widthPx, innerHeight);
    context.clip();
    context.strokeStyle = context.fillStyle = css(core.book.peek().theme.ink);
    for (const {line, waited, within} of drawn) paintArrow(context, ...line, waited > within);
    const open = drawn.filter(({waited, within}) => waited <= within).length;
    this.say(`${formatCount(drawn.length)} message${drawn.length === 1 ? '' : 's'}${
        open > 0 ? `, ${formatCount(open)} without an arrow: their order is not known` : ''}${
        total > messages.length ? `, ${formatCount(total - messages.length)} more: zoom in` : ''}`);
  }

  private pointAt(x: number, y: number): void {
    const [near] = this.drawn.filter((one) => distance(one, x, y) <= NEAR_PX).sort((a, b) => distance(a, x, y) - distance(b, x, y));
    for (const frame of this.frames) frame.contentDocument?.documentElement.classList.toggle('under-message', near !== undefined);
    if (!near) return this.point([], x, y);
    const {value, sent, received, waited, within} = near;
    const end = ({host, thread, t}: MessageEnd): string => {
      const [app, page] = [this.shown[host], this.pages[host]];
      return app && page ? `${page.host.name}: ${threadName(app.core.names, thread)}, at ${page.text(this.beginNs + t)}` : '';
    };
    const bound = within === 0 ? '' : ` ± ${formatDuration(within)}`;
    const order = waited > within ? `${formatDuration(waited)}${bound} later` :
        -waited > within ? `${formatDuration(-waited)}${bound} before it was sent: --pairs joins what is not one message` :
        `${formatDuration(waited)} later: the bound of${bound} does not decide the order`;
    this.point([`message ${value}`, `sent by ${end(sent)}`, `received by ${end(received)}`, order], x, y);
  }
}

// From its line.
function distance({line: [x0, y0, x1, y1]}: Drawn, x: number, y: number): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const part = Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(x0 + part * dx - x, y0 + part * dy - y);
}

// `beginNs`: from where their times count.
export function Messages({pages, beginNs}: {pages: readonly HostPage[]; beginNs: number}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [note, setNote] = useState('');
  const [[lines, x, y], setTip] = useState<[readonly string[], number, number]>([[], 0, 0]);
  useEffect(() => {
    const layer = canvas.current && new MessageLayer(pages, beginNs, canvas.current, setNote, (...tip) => setTip(tip));
    if (new URLSearchParams(location.search).get('test') === '1') Object.assign(window, {__messages: layer});
  }, []);
  return (
    <>
      {note}
      <canvas class="messages" ref={canvas} aria-hidden="true" />
      <div class="tooltip messages-tip" hidden={lines.length === 0} style={{left: `${Math.min(x + 14, innerWidth - 480)}px`, top: `${Math.min(y + 16, innerHeight - 110)}px`}}>
        {lines.map((line, i) => <div class={i === 0 ? 'tip-title' : 'tip-line'} key={i}>{line}</div>)}
      </div>
    </>
  );
}
