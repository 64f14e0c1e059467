// Writes event files of known contents, independently of Systole's own writer.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const kCrcTable = Uint32Array.from({length: 256}, (_, i) => {
  let c = i;
  for (let k = 0; k < 8; ++k) c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1;
  return c >>> 0;
});

function maskedCrc(bytes) {
  let c = 0xffffffff;
  for (const b of bytes) c = kCrcTable[(c ^ b) & 255] ^ (c >>> 8);
  c = (c ^ 0xffffffff) >>> 0;
  return (((c >>> 15) | (c << 17)) + 0xa282ead8) >>> 0;
}

function varint(value) {
  let v = BigInt.asUintN(64, BigInt(value));
  const out = [];
  do { const low = Number(v & 127n); v >>= 7n; out.push(v ? low | 128 : low); } while (v);
  return Buffer.from(out);
}
const tag = (number, type) => varint(number * 8 + type);
export const bytes = (number, data) => {
  const b = Buffer.isBuffer(data) ? data : Buffer.from(data);
  return Buffer.concat([tag(number, 2), varint(b.length), b]);
};
export const int = (number, value) => Buffer.concat([tag(number, 0), varint(value)]);
export function double(number, value) {
  const b = Buffer.alloc(8);
  b.writeDoubleLE(value);
  return Buffer.concat([tag(number, 1), b]);
}
export function float(number, value) {
  const b = Buffer.alloc(4);
  b.writeFloatLE(value);
  return Buffer.concat([tag(number, 5), b]);
}
const doubles = (number, values) => {
  const b = Buffer.alloc(8 * values.length);
  values.forEach((v, i) => b.writeDoubleLE(v, 8 * i));
  return bytes(number, b);
};

export function record(data) {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  const crc = (b) => { const out = Buffer.alloc(4); out.writeUInt32LE(maskedCrc(b)); return out; };
  return Buffer.concat([length, crc(length), data, crc(data)]);
}

// -- Values of a Summary

export const scalar = (name, value) => bytes(1, Buffer.concat([bytes(1, name), float(2, value)]));
export const metadata = (plugin, content = '') => bytes(9, bytes(1, Buffer.concat([bytes(1, plugin), bytes(2, content)])));

export function histogram(name, values, bins = 30) {
  const low = Math.min(...values), high = Math.max(...values), width = (high - low) / bins || 1;
  const counts = new Array(bins).fill(0);
  for (const v of values) counts[Math.min(Math.floor((v - low) / width), bins - 1)]++;
  const limits = counts.map((_, i) => low + (i + 1) * width);
  const sum = values.reduce((a, b) => a + b, 0), squares = values.reduce((a, b) => a + b * b, 0);
  return bytes(1, Buffer.concat([bytes(1, name), bytes(5, Buffer.concat([double(1, low), double(2, high), double(3, values.length),
    double(4, sum), double(5, squares), doubles(6, limits), doubles(7, counts)]))]));
}

// An RGB picture: pixel(x, y) returns [r, g, b].
export function png(width, height, pixel) {
  const raw = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; ++y) for (let x = 0; x < width; ++x) Buffer.from(pixel(x, y)).copy(raw, y * (1 + 3 * width) + 1 + 3 * x);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk('IHDR', header), chunk('IDAT', zlib.deflateSync(raw)), chunk('IEND', Buffer.alloc(0))]);
}

function crc32(data) {
  let c = 0xffffffff;
  for (const b of data) {
    c ^= b;
    for (let k = 0; k < 8; ++k) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  }
  return (c ^ 0xffffffff) >>> 0;
}

export const image = (name, width, height, pixel) => bytes(1, Buffer.concat([bytes(1, name),
  bytes(4, Buffer.concat([int(1, height), int(2, width), int(3, 3), bytes(4, png(width, height, pixel))]))]));

export const text = (name, content) => bytes(1, Buffer.concat([bytes(1, name), metadata('text'),
  bytes(8, Buffer.concat([int(1, 7), bytes(2, Buffer.alloc(0)), bytes(8, content)]))]));

// rows: true positives, false positives, true negatives, false negatives, precision, recall.
export function prCurve(name, rows) {
  const n = rows[0].length;
  const content = Buffer.alloc(4 * 6 * n);
  rows.flat().forEach((v, i) => content.writeFloatLE(v, 4 * i));
  const shape = Buffer.concat([bytes(2, int(1, 6)), bytes(2, int(1, n))]);
  return bytes(1, Buffer.concat([bytes(1, name), metadata('pr_curves'), bytes(8, Buffer.concat([int(1, 1), bytes(2, shape), bytes(4, content)]))]));
}

// Hyperparameters as TensorBoard's plugin stores them.
export function hparams(values) {
  const value = (v) => (typeof v === 'number' ? double(2, v) : typeof v === 'boolean' ? int(4, v ? 1 : 0) : bytes(3, v));
  const entries = Object.entries(values).map(([k, v]) => bytes(1, Buffer.concat([bytes(1, k), bytes(2, value(v))])));
  return bytes(1, Buffer.concat([bytes(1, '_hparams_/session_start_info'), metadata('hparams', bytes(3, Buffer.concat(entries)))]));
}

export const graph = (nodes) => Buffer.concat(nodes.map(({name, op, inputs = []}) =>
  bytes(1, Buffer.concat([bytes(1, name), bytes(2, op), ...inputs.map((i) => bytes(3, i))]))));

export class EventFile {
  constructor(directory, time = 1700000000, suffix = '') {
    fs.mkdirSync(directory, {recursive: true});
    this.path = path.join(directory, `events.out.tfevents.${Math.floor(time)}.host${suffix}`);
    this.chunks = [];
    this.write(time, 0, bytes(3, 'brain.Event:2'));
  }
  write(time, step, what) { this.chunks.push(record(Buffer.concat([double(1, time), int(2, step), what]))); }
  summary(time, step, ...values) { this.write(time, step, bytes(5, Buffer.concat(values))); }
  flush() {
    fs.appendFileSync(this.path, Buffer.concat(this.chunks));
    this.chunks = [];
  }
}
