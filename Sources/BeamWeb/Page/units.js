// The stream by the WebSocket, decoded with WebCodecs. Of what is decoded only the newest picture is drawn that needn't wait
// for its sound.

class UnitStream {
  static hasFailed = false;
  /// 130 ms at 60 a second. More, and a decoder in hardware may have no picture left to lend.
  static get mostWaiting() { return 8; }

  static get isPossible() { return !UnitStream.hasFailed && isSecureContext && 'VideoDecoder' in window && 'EncodedVideoChunk' in window; }

  /// `on`: drawn(number), picture(), sound(), failed().
  constructor(on) {
    this.on = on;
    this.canvas = element('canvas');
    this.context = this.canvas.getContext('2d', { alpha: false, desynchronized: true });
    this.player = new UnitSound();
    /// Decoded pictures, and when they are to be drawn.
    this.waiting = [];
    this.numbers = [];
    this.counts = { frames: 0, drawn: 0, keyframes: 0, bytes: 0 };
  }

  /// What follows is decoded with this.
  describe({ codec, description, w, h, sound }) {
    const record = Uint8Array.from(atob(description), letter => letter.charCodeAt(0));
    this.size = { width: w, height: h };
    if (sound && 'AudioDecoder' in window) this.on.sound();
    this.config = { codec, description: record, codedWidth: w, codedHeight: h, optimizeForLatency: true };
    this.closeDecoder();
    this.decoder = new VideoDecoder({ output: frame => this.decoded(frame), error: () => this.on.failed() });
    try {
      this.decoder.configure(this.config);
    } catch {
      this.on.failed();
    }
    this.isReady = false;
  }

  /// A binary message: flags (1: keyframe, 2: sound), number, time, bytes.
  unit(buffer) {
    if (buffer.byteLength < 14) return;
    const view = new DataView(buffer);
    const flags = view.getUint8(0), number = view.getUint32(1), timestamp = Number(view.getBigUint64(5));
    const data = new Uint8Array(buffer, 13);
    this.counts.bytes += buffer.byteLength;
    if (flags & 2) return this.player.unit(timestamp, data);
    const isKey = (flags & 1) !== 0;
    if (!this.decoder || this.decoder.state !== 'configured' || !(isKey || this.isReady)) return this.on.drawn(number);
    this.isReady = true;
    if (isKey) this.counts.keyframes += 1;
    this.numbers.push(number);
    try {
      this.decoder.decode(new EncodedVideoChunk({ type: isKey ? 'key' : 'delta', timestamp, data }));
    } catch {
      this.on.failed();
    }
  }

  decoded(frame) {
    this.counts.frames += 1;
    const number = this.numbers.shift();
    if (number !== undefined) this.on.drawn(number);
    this.waiting.push({ frame, due: this.player.due(frame.timestamp) });
    const excess = this.waiting.length - UnitStream.mostWaiting;
    if (excess > 0) this.waiting[excess - 1].due = 0;
    this.dropOld();
    this.schedule();
  }

  /// Of the pictures that are due only the newest counts: a page that is hidden draws none.
  dropOld() {
    const now = performance.now();
    while (this.waiting.length > 1 && this.waiting[1].due <= now) this.waiting.shift().frame.close();
  }

  schedule() {
    if (this.isScheduled || this.waiting.length === 0) return;
    this.isScheduled = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.isScheduled = false;
    this.dropOld();
    const isDue = this.waiting.length > 0 && this.waiting[0].due <= performance.now();
    const frame = isDue ? this.waiting.shift().frame : null;
    this.schedule();
    if (!frame) return;
    const { width, height } = this.size;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      screenView.size(width, height);
    }
    // An odd size is coded a column or row larger.
    this.context.drawImage(frame, 0, 0, width, height, 0, 0, width, height);
    frame.close();
    this.counts.drawn += 1;
    this.on.picture();
  }

  setSound(isOn, volume) { this.player.set(isOn, volume); }

  get picture() { return { source: this.canvas, width: this.canvas.width, height: this.canvas.height }; }

  async figures() {
    return {
      way: 'WebCodecs', width: this.size?.width, height: this.size?.height, frames: this.counts.frames,
      bytes: this.counts.bytes, dropped: this.counts.frames - this.counts.drawn, keyframes: this.counts.keyframes,
      queue: this.decoder?.decodeQueueSize,
    };
  }

  closeDecoder() {
    if (this.decoder && this.decoder.state !== 'closed') this.decoder.close();
    this.decoder = null;
    this.numbers = [];
    for (const { frame } of this.waiting) frame.close();
    this.waiting = [];
  }

  close() {
    this.closeDecoder();
    this.player.close();
  }
}
