// The queue of requests to the index in the page's own file.
import {type FromWorker, OwnIndex, type ToWorker} from '../../../viewer/web/src/api/own_index';

class FakeWorker {
  onmessage: (event: {data: FromWorker}) => void = () => undefined;
  onerror: (event: {message: string}) => void = () => undefined;
  sent: ToWorker[] = [];
  postMessage(message: ToWorker): void {
    this.sent.push(message);
  }
  answer(text: string, status = 200): void {
    this.onmessage({data: {status, body: new TextEncoder().encode(text).buffer as ArrayBuffer}});
  }
}
const FILE = {module: '', index: [], indexBytes: 0, samples: [], samplesBytes: 0};
async function opened(): Promise<{worker: FakeWorker; own: OwnIndex}> {
  const worker = new FakeWorker();
  const opening = OwnIndex.open(worker as unknown as Worker, FILE);
  expect(worker.sent).toEqual([{file: FILE}]);
  worker.answer('');
  const own = await opening;
  worker.sent.length = 0;
  return {worker, own};
}
const textOf = async (answer: ReturnType<OwnIndex['ask']>): Promise<string> => new TextDecoder().decode((await answer).body);

test('requests are answered one at a time, in order', async () => {
  const {worker, own} = await opened();
  const answers = [textOf(own.ask('trace?index=1', {})), textOf(own.ask('tiles', {method: 'POST', body: '{}'}))];
  expect(worker.sent).toEqual([{ask: {method: 'GET', target: '/api/v1/trace?index=1', body: ''}}]);
  worker.answer('a');
  expect(worker.sent[1]).toEqual({ask: {method: 'POST', target: '/api/v1/tiles', body: '{}'}});
  worker.answer('b');
  expect(await Promise.all(answers)).toEqual(['a', 'b']);
});

test('what was aborted before its turn is not computed, and after it is not answered', async () => {
  const {worker, own} = await opened();
  const aborts = [new AbortController(), new AbortController()];
  const answers = [...aborts.map(({signal}, i) => own.ask(`${i}`, {signal})), own.ask('2', {})];
  for (const abort of aborts) abort.abort();
  worker.answer('late');
  expect(worker.sent.map(({ask}) => ask?.target)).toEqual(['/api/v1/0', '/api/v1/2']);
  worker.answer('c');
  for (const answer of answers.slice(0, 2)) await expect(answer).rejects.toMatchObject({name: 'AbortError'});
  expect((await answers[2])?.status).toBe(200);
});

test('a worker that fails fails every request, and the opening', async () => {
  const {worker, own} = await opened();
  const answers = [own.ask('0', {}), own.ask('1', {})];
  worker.onmessage({data: {error: 'no memory'}});
  for (const answer of [...answers, own.ask('2', {})]) await expect(answer).rejects.toThrow('no memory');
  const broken = new FakeWorker();
  const opening = OwnIndex.open(broken as unknown as Worker, FILE);
  broken.onerror({message: ''});
  await expect(opening).rejects.toThrow('starts no worker');
});
