// Runs of made-up trainings, for the browser test and for the pictures of docs/board.md.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import {EventFile, bytes, graph, histogram, hparams, image, int, prCurve, scalar, text} from './event_file.js';

export const kStart = 1760000000;

// Numbers in [0, 1) that are the same in every run of this script.
export function random(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
const normal = (next) => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());

const kGraph = graph([
  {name: 'input/images', op: 'Placeholder'}, {name: 'input/labels', op: 'Placeholder'},
  {name: 'conv1/kernel', op: 'VariableV2'}, {name: 'conv1/Conv2D', op: 'Conv2D', inputs: ['input/images', 'conv1/kernel']},
  {name: 'conv1/Relu', op: 'Relu', inputs: ['conv1/Conv2D']}, {name: 'pool1/MaxPool', op: 'MaxPool', inputs: ['conv1/Relu']},
  {name: 'conv2/kernel', op: 'VariableV2'}, {name: 'conv2/Conv2D', op: 'Conv2D', inputs: ['pool1/MaxPool', 'conv2/kernel']},
  {name: 'conv2/Relu', op: 'Relu', inputs: ['conv2/Conv2D']}, {name: 'flatten/Reshape', op: 'Reshape', inputs: ['conv2/Relu']},
  {name: 'dense/kernel', op: 'VariableV2'}, {name: 'dense/bias', op: 'VariableV2'},
  {name: 'dense/MatMul', op: 'MatMul', inputs: ['flatten/Reshape', 'dense/kernel']},
  {name: 'dense/BiasAdd', op: 'BiasAdd', inputs: ['dense/MatMul', 'dense/bias']},
  {name: 'loss/softmax_cross_entropy', op: 'SoftmaxCrossEntropyWithLogits', inputs: ['dense/BiasAdd', 'input/labels']},
  {name: 'loss/Mean', op: 'Mean', inputs: ['loss/softmax_cross_entropy']},
  {name: 'train/gradients/dense/MatMul_grad', op: 'MatMul', inputs: ['loss/Mean', 'dense/kernel']},
  {name: 'train/Adam/update_dense', op: 'ApplyAdam', inputs: ['dense/kernel', 'train/gradients/dense/MatMul_grad']},
  {name: 'train/Adam/update_conv1', op: 'ApplyAdam', inputs: ['conv1/kernel', 'loss/Mean', '^train/Adam/update_dense']},
]);

function digit(step, k) {
  return (x, y) => {
    const r = Math.hypot(x - 14, (y - 14) * (k % 2 ? 1.3 : 0.8)) - 7 - 2 * Math.sin(k + 3 * Math.atan2(y - 14, x - 14));
    const v = Math.max(0, Math.min(255, 255 * (1 - Math.abs(r) / (1.5 + 6 / (1 + step / 200)))));
    return [v, v, v];
  };
}

function trainRun(directory, {seed, rate, batch, optimizer, restart = false, nan = false, steps = 2000, start = kStart}) {
  const next = random(seed);
  const best = 0.035 + 0.05 * Math.abs(Math.log10(rate) + 2.7) + (optimizer === 'adam' ? 0 : 0.03);
  const write = (file, from, to, at) => {
    for (let step = from; step <= to; step += 5) {
      const time = at + (step - from) * 0.15;
      let loss = best + 2.2 / (1 + step * rate * 25) + 0.05 * normal(next) / (1 + step / 800);
      if (nan && step >= 900 && step < 940) loss = NaN;
      const values = [scalar('loss', loss), scalar('accuracy', Math.min(0.999, 1 - 0.35 * Math.max(loss, 0.003) + 0.004 * normal(next))),
        scalar('learning_rate', rate * 0.5 * (1 + Math.cos(Math.PI * step / steps)))];
      if (step % 50 === 0) values.push(scalar('global_step/sec', 6.6 + 0.2 * normal(next)), scalar('examples/sec', batch * (6.6 + 0.2 * normal(next))), scalar('input_wait', Math.max(0, 0.04 + 0.01 * normal(next))));
      if (step % 100 === 0) {
        const width = 0.04 + 0.12 * step / steps;
        values.push(histogram('dense/kernel', Array.from({length: 400}, () => width * normal(next) + 0.02 * step / steps)));
        values.push(histogram('gradients/dense', Array.from({length: 400}, () => 0.3 / (1 + step / 300) * normal(next))));
      }
      if (step % 400 === 0) for (let k = 0; k < 3; ++k) values.push(image(`samples/${k}`, 28, 28, digit(step, k)));
      file.summary(time, step, ...values);
    }
  };
  const file = new EventFile(path.join(directory, 'train'), start);
  file.write(start, 0, bytes(4, kGraph));
  file.write(start, 0, bytes(7, int(1, 1)));
  file.summary(start, 0, hparams({learning_rate: rate, batch_size: batch, optimizer, augment: seed % 2 === 0, max_steps: steps}));
  file.summary(start, 0, text('notes', `**${optimizer}** with a learning rate of ${rate}.\n\n| what | value |\n|---|---|\n| batch | ${batch} |\n| augmentation | ${seed % 2 === 0} |`));
  if (restart) {
    write(file, 0, 1200, start);
    file.flush();
    const again = new EventFile(path.join(directory, 'train'), start + 400);
    again.write(start + 400, 1000, bytes(7, int(1, 1)));
    write(again, 1000, steps, start + 400);
    again.flush();
  } else {
    write(file, 0, steps, start);
    file.flush();
  }
  const evaluation = new EventFile(path.join(directory, 'eval'), start + 10);
  for (let step = 200; step <= steps; step += 200) {
    const loss = best * 1.25 + 2.4 / (1 + step * rate * 25) + 0.004 * normal(next);
    const n = 21, thresholds = Array.from({length: n}, (_, i) => i / (n - 1));
    const recall = thresholds.map((t) => 1 - t ** (1.5 + step / 250)), precision = thresholds.map((t) => 0.55 + 0.44 * t ** (1 / (1 + step / 300)));
    evaluation.summary(start + step * 0.15, step, scalar('loss', loss), scalar('accuracy', 1 - 0.33 * loss),
      prCurve('pr/digit_7', [recall.map((r) => Math.round(500 * r)), precision.map((p, i) => Math.round(500 * recall[i] * (1 / p - 1))),
        recall.map(() => 4000), recall.map((r) => Math.round(500 * (1 - r))), precision, recall]));
  }
  evaluation.flush();
}

// A profile with a timeline of `events` events: steps of 1000 us on one track, ten ops in each on another.
export function writeSampleProfile(logdir, events) {
  const folder = path.join(logdir, 'plugins', 'profile', '2025_10_09_08_53_20');
  fs.mkdirSync(folder, {recursive: true});
  const ops = ['convolution.1', 'fusion.2', 'convolution.3', 'fusion.4', 'dot.5', 'fusion.6', 'reduce.7', 'all-reduce.8', 'fusion.9', 'copy.10'];
  const name = (pid, tid, process, thread) => [{ph: 'M', pid, name: 'process_name', args: {name: process}}, {ph: 'M', pid, tid, name: 'thread_name', args: {name: thread}}];
  const list = [...name(1, 1, '/device:TPU:0', 'Steps'), ...name(1, 2, '/device:TPU:0', 'XLA Ops')];
  for (let step = 0; list.length < events; ++step) {
    list.push({ph: 'X', pid: 1, tid: 1, name: `step ${step}`, ts: step * 1000, dur: 990, args: {step_num: step}});
    ops.forEach((op, i) => list.push({ph: 'X', pid: 1, tid: 2, name: op, ts: step * 1000 + i * 99, dur: 40 + 5 * i, args: {source: `model.cc:${10 + i}`}}));
  }
  fs.writeFileSync(path.join(folder, 'host.trace.json.gz'), zlib.gzipSync(JSON.stringify({displayTimeUnit: 'ns', traceEvents: list})));
  const leaf = (op, time, flops) => ({name: op, metrics: {time, flops}, xla: {op, expression: `%${op} = f32[128,64] ...`, category: op.replace(/\.\d+/, '')}, children: []});
  fs.writeFileSync(path.join(folder, 'host.op_profile.json'), JSON.stringify({byCategory: {name: 'byCategory', metrics: {time: 1, flops: 0.35},
    children: [{name: 'convolution', metrics: {time: 0.6, flops: 0.5}, children: [leaf('convolution.1', 0.4, 0.6), leaf('convolution.3', 0.2, 0.3)]},
      {name: 'fusion', metrics: {time: 0.4, flops: 0.1}, children: [leaf('fusion.2', 0.4, 0.1)]}]}}));
}

// The pages of a profile that show operations below the roofline, the cores of a pod, and memory: arrays 1 and 2 share a place.
export function writeSamplePages(logdir) {
  const folder = path.join(logdir, 'plugins', 'profile', '2025_10_09_08_53_20');
  fs.mkdirSync(folder, {recursive: true});
  const op = (name, category, seconds, flops, bytes) => ({name, category, scope: `model/${name}`, source: 'model.cc:12', runs: 1, seconds, flops, bytes, intensity: flops / bytes,
    roofline_utilization: flops / seconds / Math.min(1e11, 2e10 * flops / bytes), limited_by: flops / bytes < 5 ? 'memory' : 'compute', wasted_seconds: seconds / 2});
  fs.writeFileSync(path.join(folder, 'host.systole.json'), JSON.stringify({version: 1, peaks: {name: 'test CPU', flops_per_second: 1e11, bytes_per_second: 2e10}, roofline_utilization: 0.6,
    mxu_useful_share: 0.75, ops: [op('convolution.1', 'convolution', 4e-3, 2e8, 4e6), op('fusion.2', 'loop fusion', 2e-3, 4e6, 2e7), op('dot.5', 'dot', 1e-3, 6e7, 1e6)]}));
  const core = (us) => ({totalDurationUs: us, highFlopsComputeUs: us * 0.6, crsDurationUs: us * 0.2});
  fs.writeFileSync(path.join(folder, 'host.pod_viewer.json'), JSON.stringify({runEnvironment: {hostCount: 1, tpuCoreCount: 3, tpuType: 'TPU v3'},
    podStatsSequence: {podStatsMap: [{stepNum: 7, podStatsPerCore: {0: core(900), 1: core(1000), 2: core(800)}, allReduceOpDb: [{name: 'all-reduce.2', durationUs: 10, dataSize: '30661632', occurrences: 32}], channelDb: []}]}}));
  const assigned = (id, offset, size) => ({logicalBufferId: String(id), offset: String(offset), size: String(size)});
  const sizes = [5000, 3000, 3000, 1000], names = ['parameter.0', 'dot.1', 'fusion.2', 'fusion.3'];
  fs.writeFileSync(path.join(folder, 'host.memory_viewer.json'), JSON.stringify({hloModule: {name: 'steps', computations: [{instructions: names.map((name) => (
    {name, shape: {elementType: 'F32', dimensions: ['250', '3']}, metadata: {opName: `model/${name}`, sourceFile: 'model.cc', sourceLine: 12}}))}]},
  bufferAssignment: {logicalBuffers: sizes.map((size, i) => ({id: String(i), size: String(size), definedAt: {instructionName: names[i]}})),
    bufferAllocations: [{size: '5000', isEntryComputationParameter: true, assigned: [assigned(0, 0, 5000)]}, {size: '4000', isReusable: true, assigned: [assigned(1, 0, 3000), assigned(2, 0, 3000), assigned(3, 3000, 1000)]}],
    heapSimulatorTraces: [{events: [['ALLOC', 1], ['ALLOC', 2], ['FREE', 1], ['ALLOC', 3], ['FREE', 2], ['FREE', 3]].map(([kind, id]) => ({kind, bufferId: String(id)}))}]}}));
}

export function writeSampleRuns(logdir) {
  fs.mkdirSync(logdir, {recursive: true});
  const at = (i) => ({start: kStart + 3600 * i});
  trainRun(path.join(logdir, 'adam_lr1e-3'), {seed: 2, rate: 0.001, batch: 128, optimizer: 'adam', ...at(0)});
  trainRun(path.join(logdir, 'adam_lr3e-3'), {seed: 3, rate: 0.003, batch: 128, optimizer: 'adam', restart: true, ...at(1)});
  trainRun(path.join(logdir, 'adam_lr3e-2'), {seed: 4, rate: 0.03, batch: 256, optimizer: 'adam', nan: true, ...at(2)});
  trainRun(path.join(logdir, 'momentum_lr1e-2'), {seed: 5, rate: 0.01, batch: 128, optimizer: 'momentum', ...at(3)});
  trainRun(path.join(logdir, 'sgd_lr1e-2'), {seed: 6, rate: 0.01, batch: 64, optimizer: 'sgd', ...at(4)});
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeSampleRuns(process.argv[2]);

// Three runs of `systole train` on one configuration with three rates, a tag in each of twenty groups of 25, a text, a curve.
export function writePlainRuns(logdir) {
  const yaml = fs.readFileSync(new URL('../../../examples/configs/iris.yaml', import.meta.url), 'utf8');
  ['a', 'b', 'c'].forEach((name, k) => {
    const folder = path.join(logdir, name), rate = [0.001, 0.005, 0.05][k];
    const file = new EventFile(folder, kStart);
    for (let step = 0; step < 20; ++step) {
      const many = Array.from({length: 500}, (_, i) => scalar(`group_${i % 20}/tag_${Math.floor(i / 20)}`, step + i));
      file.summary(kStart + step, step, scalar('loss', 0.2 + 0.1 * k + 1 / (step + 2) - 1 / 21), scalar('accuracy', 0.9), ...(k === 0 ? many : []));
      if (k === 1) file.summary(kStart + step, step, scalar('group_19/tag_3', step));
    }
    if (k === 0) {
      file.summary(kStart, 0, text('notes', `A [link](https://example.com/a).\n\n| parameter | value |\n|---|---|\n| ${'long_name_'.repeat(20)} | ${'value '.repeat(60)} |\n| b | 2 |`));
      const recall = [1, 0.8, 0.6, 0.4], precision = [0.5, 0.7, 0.8, 0.95], none = [0, 0, 0, 0];
      file.summary(kStart, 0, prCurve('pr/part', [none, none, none, none, precision, recall]));
    }
    file.flush();
    fs.writeFileSync(path.join(folder, 'config.systole.yaml'), yaml.replace('learning_rate: 0.05', `learning_rate: ${rate}`));
  });
}
