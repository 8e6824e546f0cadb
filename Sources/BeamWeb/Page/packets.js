// The stream by WebRTC: the host offers, the page only receives.

class PacketStream {
  /// How long pictures wait at least while the sound is on, in ms. Its way takes some 85 to 95 ms longer: the codec, the
  /// jitter buffer, the sound server. Chromium evens out what it takes beyond this, but stops some 45 ms from there by
  /// itself.
  static get hold() { return 90; }

  static get isPossible() {
    if (!('RTCPeerConnection' in window) || !('RTCRtpReceiver' in window)) return false;
    const codecs = RTCRtpReceiver.getCapabilities?.('video')?.codecs ?? [];
    return codecs.some(codec => codec.mimeType.toLowerCase() === 'video/h264');
  }

  /// `on`: answer(sdp), candidate(candidate or null), picture(), size(width, height), sound(), heard(is on), failed().
  /// `relays`: of which one may be on the way, as an element of `iceServers`; or nothing.
  constructor(on, relays) {
    this.on = on;
    this.relays = relays ? [relays] : [];
    this.video = element('video');
    this.video.muted = true;
    this.connection = null;
    this.isClosed = false;
    this.isHeard = false;
    this.size = null;
  }

  /// Takes the first one only: a gateway may send any number.
  async offer(sdp) {
    if (this.connection || this.isClosed) return;
    try {
      const connection = this.connection = new RTCPeerConnection({ iceServers: this.relays });
      connection.ontrack = event => this.track(event);
      connection.onicecandidate = event => this.on.candidate?.(event.candidate);
      connection.onconnectionstatechange = () => {
        if (connection.connectionState === 'failed') this.on.failed();
      };
      await connection.setRemoteDescription({ type: 'offer', sdp });
      await connection.setLocalDescription(await connection.createAnswer());
      this.on.answer(connection.localDescription.sdp);
    } catch {
      this.on.failed();
    }
  }

  track(event) {
    // The host asks for no delay by itself; this is for browsers that don't know how.
    this.delay(event.receiver, 0);
    if (event.track.kind === 'audio') this.on.sound(); else this.pictures = event.receiver;
    if (this.video.srcObject === event.streams[0]) return;
    this.video.srcObject = event.streams[0];
    this.video.play().catch(() => { /* It begins with the first touch. */ });
    const seen = () => {
      // Chromium shows pictures of 2 × 2 before the first one has come.
      if (this.video.videoWidth <= 2) return;
      this.fit();
      this.on.picture();
    };
    if ('requestVideoFrameCallback' in this.video) {
      const each = () => { seen(); if (this.connection) this.video.requestVideoFrameCallback(each); };
      this.video.requestVideoFrameCallback(each);
    } else {
      this.video.onplaying = seen;
      this.video.onresize = seen;
    }
  }

  delay(receiver, milliseconds) {
    try { receiver.jitterBufferTarget = milliseconds; } catch { /* It has another idea. */ }
  }

  /// The host says the size of its pictures.
  sized(width, height) {
    this.size = { width, height };
    this.fit();
  }

  fit() {
    const shown = { width: this.video.videoWidth, height: this.video.videoHeight };
    if (shown.width <= 2) return;
    // The reduced layer has another size, with the same shape.
    const isSame = this.size && shown.width - this.size.width <= 1 && shown.width >= this.size.width
      && shown.height - this.size.height <= 1 && shown.height >= this.size.height;
    const size = isSame ? this.size : shown;
    const key = `${size.width}×${size.height} ${shown.width}×${shown.height}`;
    if (key === this.fitted) return;
    this.fitted = key;
    screenView.size(size.width, size.height, shown);
  }

  setSound(isOn, volume) {
    if (isOn !== this.isHeard) {
      this.isHeard = isOn;
      this.on.heard(isOn);
      if (this.pictures) this.delay(this.pictures, isOn ? PacketStream.hold : 0);
    }
    this.video.muted = !isOn;
    this.video.volume = volume;
    this.video.play().catch(() => {});
  }

  get picture() {
    const { videoWidth: width, videoHeight: height } = this.video;
    return { source: this.video, width: Math.min(width, this.size?.width ?? width), height: Math.min(height, this.size?.height ?? height) };
  }

  /// [text, value] pairs.
  async figures() {
    const found = {};
    for (const report of (await this.connection?.getStats())?.values() ?? []) {
      if (report.type === 'inbound-rtp' && report.kind === 'video') found.video = report;
      if (report.type === 'inbound-rtp' && report.kind === 'audio') found.audio = report;
      if (report.type === 'candidate-pair' && report.nominated && report.state === 'succeeded') found.pair = report;
    }
    const video = found.video ?? {};
    return {
      way: 'WebRTC', width: video.frameWidth, height: video.frameHeight, frames: video.framesDecoded ?? 0,
      bytes: (video.bytesReceived ?? 0) + (found.audio?.bytesReceived ?? 0), lost: video.packetsLost ?? 0,
      dropped: video.framesDropped ?? 0, keyframes: video.keyFramesDecoded,
      trip: found.pair?.currentRoundTripTime === undefined ? undefined : found.pair.currentRoundTripTime * 1000,
      waited: video.jitterBufferEmittedCount
        ? 1000 * video.jitterBufferDelay / video.jitterBufferEmittedCount : undefined,
    };
  }

  close() {
    this.isClosed = true;
    this.connection?.close();
    this.connection = null;
    this.video.srcObject = null;
    this.video.muted = true;
  }
}
