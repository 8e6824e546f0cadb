// Sound: off until somebody turns it on, as browsers want it. Opus packets of the WebSocket are decoded and lined up here;
// that of WebRTC is played by the video element.

class UnitSound {
  /// Seconds that wait when sound begins, and after a gap: jitter of the WebSocket and of the page is less as a rule.
  static get reserve() { return 0.04; }
  /// If more than this has waited at every moment of a second, what is too much is left out, down to `margin`.
  static get excess() { return 0.02; }
  static get margin() { return 0.01; }
  /// Pictures wait for their sound for this long at most, in ms; and this long after the last sound.
  static get longestHold() { return 200; }
  static get holdsAfter() { return 1000; }
  /// More than this waits only if the sound device is slower than the host's: it is left out.
  static get most() { return 0.25; }

  constructor() {
    this.isOn = false;
    this.next = 0;
    /// What is to be added to a time of the host, in ms, to have that of `performance.now()` at which its sound is heard.
    this.lateness = null;
    this.heard = 0;
    this.restart();
  }

  /// Begins to watch how much waits.
  restart() {
    this.least = Infinity;
    this.watched = 0;
    this.surplus = 0;
  }

  set(isOn, volume) {
    if (isOn && !this.device) this.open();
    this.isOn = isOn && this.device !== undefined;
    if (this.gain) this.gain.gain.value = isOn ? volume : 0;
    if (isOn) this.device?.resume().catch(() => {});
  }

  open() {
    if (!('AudioDecoder' in window)) return;
    this.device = new AudioContext({ sampleRate: 48000, latencyHint: 'interactive' });
    this.gain = this.device.createGain();
    this.gain.connect(this.device.destination);
    this.begin();
  }

  begin() {
    this.decoder = new AudioDecoder({ output: data => this.play(data), error: () => { this.decoder = null; } });
    this.decoder.configure({ codec: 'opus', sampleRate: 48000, numberOfChannels: 2 });
  }

  unit(timestamp, data) {
    // What comes before the device runs would be late for ever.
    if (!this.isOn || this.device.state !== 'running') return;
    if (!this.decoder) this.begin();
    this.decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp, data }));
  }

  play(data) {
    if (this.isOn && this.takes(data.numberOfFrames / data.sampleRate)) {
      const buffer = this.device.createBuffer(2, data.numberOfFrames, data.sampleRate);
      for (let channel = 0; channel < 2; channel++) {
        const plane = Math.min(channel, data.numberOfChannels - 1);
        data.copyTo(buffer.getChannelData(channel), { planeIndex: plane, format: 'f32-planar' });
      }
      const source = this.device.createBufferSource();
      source.buffer = buffer;
      source.connect(this.gain);
      source.start(this.next);
      this.watch(data.timestamp);
      this.next += buffer.duration;
    }
    data.close();
  }

  /// Whether so many seconds are played, after what waits: not if that is too much, as after a stall, or when the decoder
  /// has handed out at once what came while it started.
  takes(seconds) {
    const now = this.device.currentTime;
    if (this.next < now) {
      this.next = now + UnitSound.reserve;
      this.restart();
    }
    const waiting = this.next - now;
    if (waiting >= UnitSound.most) return false;
    this.least = Math.min(this.least, waiting);
    this.watched += seconds;
    if (this.watched >= 1) {
      const surplus = this.least > UnitSound.excess ? this.least - UnitSound.margin : 0;
      this.restart();
      this.surplus = surplus;
    }
    if (this.surplus < seconds) return true;
    this.surplus -= seconds;
    return false;
  }

  /// Sound of that time of the host, in µs, is played at `next`.
  watch(timestamp) {
    const now = performance.now();
    const wait = this.next - this.device.currentTime + (this.device.outputLatency || this.device.baseLatency || 0);
    const lateness = now + 1000 * wait - timestamp / 1000;
    // The device's clock advances in steps of some ms: they are evened out. After a gap it begins anew.
    const isNew = this.lateness === null || Math.abs(lateness - this.lateness) > 100;
    this.lateness = isNew ? lateness : this.lateness + (lateness - this.lateness) / 16;
    this.heard = now;
  }

  /// When a picture of that time of the host, in µs, is to be shown, so that it is in step with the sound; 0: at once.
  due(timestamp) {
    const now = performance.now();
    if (!this.isOn || this.lateness === null || now - this.heard > UnitSound.holdsAfter) return 0;
    return Math.min(timestamp / 1000 + this.lateness, now + UnitSound.longestHold);
  }

  close() {
    this.isOn = false;
    this.lateness = null;
    if (this.decoder && this.decoder.state !== 'closed') this.decoder.close();
    this.decoder = null;
    this.device?.close();
    this.device = undefined;
    this.gain = undefined;
  }
}

// The button and the volume.
const soundControl = {
  stream: null,
  isOn: false,

  /// The stream has sound, which begins silent.
  offer(stream) {
    if (this.stream === stream) return;
    this.stream = stream;
    this.isOn = false;
    element('sound').hidden = false;
    this.show();
  },

  toggle() {
    if (!this.stream) return;
    this.isOn = !this.isOn;
    this.apply();
    this.show();
  },

  apply() { this.stream?.setSound(this.isOn, element('volume').value / 100); },

  show() {
    element('soundState').textContent = this.isOn ? words.isOn : words.isOff;
    element('sound').setAttribute('aria-pressed', String(this.isOn));
    element('volume').hidden = !this.isOn;
  },

  clear() {
    this.stream = null;
    this.isOn = false;
    element('sound').hidden = true;
    element('volume').hidden = true;
  },
};
element('sound').addEventListener('click', () => soundControl.toggle());
element('volume').addEventListener('input', () => soundControl.apply());
