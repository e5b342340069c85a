// A drag from a press of the pointer on, also outside the element.

export function drag(
    element: HTMLElement, press: PointerEvent, move: (event: PointerEvent) => void,
    end: (event: PointerEvent) => void = () => undefined): void {
  element.setPointerCapture(press.pointerId);
  const done = (event: PointerEvent): void => {
    element.removeEventListener('pointermove', move);
    element.removeEventListener('pointerup', done);
    element.removeEventListener('pointercancel', done);
    end(event);
  };
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerup', done);
  element.addEventListener('pointercancel', done);
}
