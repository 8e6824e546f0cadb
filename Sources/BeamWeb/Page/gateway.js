// A gateway's API (Janus): the host's mountpoint there, watched by its number and its PIN.

class GatewayClient {
  /// `entry`: url, id, pin, token; another token may come. `on`: offer(sdp), lost(why), unreachable(), refused(). `why`: 'destroyed' if the host has
  /// destroyed its mountpoint, 'missing' if the gateway has none of that number; otherwise the connection is lost.
  constructor(entry, on) {
    this.entry = entry;
    this.on = on;
    this.asked = new Map();
    this.count = 0;
    this.isOver = false;
    this.wasOpen = false;
  }

  open() {
    try {
      this.socket = new WebSocket(this.entry.url, 'janus-protocol');
    } catch {
      return this.end('unreachable');
    }
    // Nothing says why a WebSocket isn't opened: neither does the page know.
    this.timer = setTimeout(() => this.end('unreachable'), 8000);
    this.socket.onopen = () => this.begin().catch(() => this.end('lost'));
    this.socket.onmessage = event => this.message(JSON.parse(event.data));
    this.socket.onclose = () => this.end(this.wasOpen ? 'lost' : 'unreachable');
  }

  async begin() {
    this.wasOpen = true;
    clearTimeout(this.timer);
    this.session = (await this.ask({ janus: 'create' })).data.id;
    this.alive = setInterval(() => this.send({ janus: 'keepalive' }), 25000);
    this.handle = (await this.ask({ janus: 'attach', plugin: 'janus.plugin.streaming' })).data.id;
    this.plugin({ request: 'watch', id: this.entry.id, pin: this.entry.pin });
  }

  /// The session description of the browser.
  answer(sdp) { this.plugin({ request: 'start' }, { type: 'answer', sdp }); }

  /// Pictures wait for the sound, if it is heard: at most 200 ms. Janus counts in 10 ms.
  heard(isOn) { this.delay(isOn ? 20 : 0); }

  delay(most) { this.plugin({ request: 'configure', mid: 'v', min_delay: 0, max_delay: most }); }

  /// A candidate, or null: there are no more.
  candidate(candidate) {
    this.send({ janus: 'trickle', candidate: candidate ? candidate.toJSON() : { completed: true } });
  }

  message(message) {
    if (message.janus === 'ack' || this.isOver) return;
    const waiting = this.asked.get(message.transaction);
    if (waiting && (message.janus === 'success' || message.janus === 'error')) {
      this.asked.delete(message.transaction);
      return message.janus === 'success' ? waiting(message) : this.end('refused');
    }
    switch (message.janus) {
      case 'error': return this.end('refused');
      case 'event': return this.event(message);
      // Without delay: the browser shows each picture as soon as it can.
      case 'webrtcup': return this.delay(0);
      case 'hangup': case 'detached': case 'timeout': return this.end('lost');
    }
  }

  event(message) {
    const data = message.plugindata?.data ?? {};
    // All but 455 (no such mountpoint) is a refusal.
    if (data.error_code) return data.error_code === 455 ? this.end('lost', 'missing') : this.end('refused');
    if (message.jsep?.type === 'offer') this.on.offer(message.jsep.sdp);
    if (data.result?.status === 'stopped') this.end('lost', 'destroyed');
  }

  plugin(body, jsep) { this.send({ janus: 'message', body, ...(jsep ? { jsep } : {}) }); }

  ask(request) {
    return new Promise(done => this.asked.set(this.send(request), done));
  }

  send(request) {
    const transaction = `p${++this.count}`;
    const own = { transaction, ...(this.entry.token ? { token: this.entry.token } : {}) };
    if (this.session) own.session_id = this.session;
    if (this.handle) own.handle_id = this.handle;
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ ...request, ...own }));
    return transaction;
  }

  end(how, why) {
    if (this.isOver) return;
    this.close();
    this.on[how](why);
  }

  close() {
    this.isOver = true;
    clearTimeout(this.timer);
    clearInterval(this.alive);
    this.socket?.close();
  }
}
