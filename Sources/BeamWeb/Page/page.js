// The page's states, and its conversation with the host.

const secureAddress = `https://${location.host}/`;
/// Milliseconds: without a message the host is gone; for so long a page by https comes back without a code.
const silence = 15000, resuming = 30000;

const clock = time => new Date(time).toLocaleTimeString(language);

const page = {
  state: 'code',
  socket: null,
  stream: null,
  /// How this browser watches by a gateway, and the connection to it.
  entry: null,
  gateway: null,
  tries: 0,
  /// Since when the gateway has had no picture for this page, if it tries to come back there.
  gatewayLostSince: null,
  /// bytes: of its stream so far; since: when they last grew; checks: how many checks ago.
  arrived: null,
  /// When the host has destroyed its mountpoint there, if none has followed.
  destroyedSince: null,
  /// By which the page comes back to the host, and since when the host can't be reached.
  token: null,
  lostSince: null,
  /// Of the host's pictures, as it says.
  size: null,
  heard: 0,
  hasPicture: false,
  isIdle: false,
  isPaused: false,
  hidden: 'visible',
  lock: null,

  get forms() {
    const forms = [];
    if (UnitStream.isPossible) forms.push('codecs');
    if (root.packets === 'yes' && PacketStream.isPossible) forms.push('webrtc');
    return forms;
  },

  // MARK: Entering

  begin() {
    const fragment = this.takeFragment();
    if (root.gateway) return this.beginAlone(fragment);
    const code = /^\d{6}$/.exec(fragment)?.[0];
    if (this.forms.length === 0) return this.unusable(code);
    if (code) return this.hello(code);
    this.askForCode();
  },

  /// What a link has behind #. It isn't to be read from the history, or sent on with the address.
  takeFragment() {
    const fragment = location.hash.slice(1);
    if (location.hash) history.replaceState(null, '', location.pathname + location.search);
    return fragment;
  },

  /// Another link was opened in this tab.
  linked() {
    const isEntering = ['connecting', 'waiting'].includes(this.state) && !(this.lostSince ?? this.gatewayLostSince);
    const isWatching = this.state === 'playing' && !(this.arrived?.checks >= mostChecks);
    if (isEntering || isWatching) return this.takeFragment();
    this.leave();
    this.begin();
  },

  /// On another web server than the host's: the link says everything.
  beginAlone(fragment) {
    const link = new URLSearchParams(fragment);
    if (!PacketStream.isPossible) {
      this.enter('unusable');
      return screenView.card(words.unusable, words.unusableGateway);
    }
    const id = Number(link.get('g')), pin = link.get('pin');
    if (!Number.isSafeInteger(id) || id <= 0 || !pin) return this.askForCode();
    this.letIn(null);
    const relays = { urls: link.getAll('turn'), username: link.get('user'), credential: link.get('key') };
    const entry = { url: root.gateway, id, pin, token: link.get('token') };
    this.sentToGateway(relays.urls.length > 0 ? { ...entry, relays } : entry);
  },

  unusable(code) {
    this.enter('unusable');
    const hasPackets = root.packets === 'yes';
    if (isSecureContext) return screenView.card(words.unusable, hasPackets ? words.unusableDetail : words.unusableSecureHost);
    const detail = [hasPackets && words.insecureDetail, root.certificate === 'own' && words.ownCertificate];
    screenView.card(hasPackets ? words.insecure : words.secureHost, detail.filter(Boolean).join(' '), {
      secure: secureAddress + (code ? `#${code}` : ''),
    });
  },

  /// `headline`: what has happened before, if anything has.
  askForCode(headline) {
    this.enter('code');
    if (root.gateway) return screenView.card(headline ?? words.linkNeeded, this.wayBack);
    const entry = root.code !== 'no', ask = root.asks === 'yes';
    if (!entry && !ask) return screenView.card(words.noEntry);
    const wish = entry ? words.typeCode[root.code] : words.askOnly;
    screenView.card(headline ?? wish, headline ? this.wayBack : '', { entry, ask });
    element('code').disabled = element('enter').disabled = false;
    if (!entry) return;
    // It is used up.
    if (root.code === 'one') element('code').value = '';
    element('code').focus();
    element('code').select();
  },

  /// How this browser gets in again.
  get wayBack() { return root.gateway ? words.linkNeededDetail(root.host) : words.anew[root.code]; },

  submit() {
    const code = element('code').value.replace(/[\s.·‐-―−-]/g, '');
    if (!/^\d{6}$/.test(code)) {
      screenView.problem(words.sixDigits);
      return element('code').focus();
    }
    this.hello(code);
  },

  hello(code) {
    this.entry = null;
    screenView.problem('');
    const hello = { t: 'hello', v: 1, can: this.forms };
    if (code) hello.code = code;
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.connecting();
      return this.send(hello);
    }
    this.connecting();
    this.open(() => this.send(hello));
  },

  connecting() {
    this.enter('connecting');
    screenView.card(words.connecting);
  },

  wrongCode(pause) {
    this.askForCode();
    element('code').value = '';
    if (root.code === 'no') return;
    if (!pause) return screenView.problem(words.wrongCode[root.code]);
    element('code').disabled = element('enter').disabled = true;
    let left = pause;
    const tick = () => {
      if (this.state !== 'code') return;
      if (left <= 0) {
        screenView.problem('');
        element('code').disabled = element('enter').disabled = false;
        return element('code').focus();
      }
      screenView.problem(words.wrongCodeWait[root.code](left));
      left -= 1;
      setTimeout(tick, 1000);
    };
    tick();
  },

  // MARK: The socket

  open(then) {
    const socket = this.socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
    socket.binaryType = 'arraybuffer';
    this.heard = performance.now();
    socket.onopen = then;
    socket.onmessage = event => {
      if (socket !== this.socket) return;
      this.heard = performance.now();
      if (typeof event.data === 'string') this.message(JSON.parse(event.data));
      else this.stream?.unit?.(event.data);
    };
    socket.onclose = () => { if (socket === this.socket) this.lose(); };
  },

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  },

  closeSocket(code) {
    const socket = this.socket;
    this.socket = null;
    if (code) socket?.close(code);
    else socket?.close();
  },

  /// The socket is lost. By https the page comes back by itself, with its token; by http that could be heard by others. What
  /// comes by a gateway goes on meanwhile.
  lose() {
    // 4000 is no goodbye: the page comes again.
    this.closeSocket(4000);
    // The host has waited long enough for another code: the next one opens another socket.
    if (this.state === 'code' || this.hasLeft) return;
    const wasIn = this.entry !== null || ['playing', 'waiting', 'lost'].includes(this.state);
    this.lostSince ??= Date.now();
    const headline = words.lost(clock(this.lostSince));
    if (wasIn && this.token !== null && Date.now() - this.lostSince < resuming) {
      if (!this.entry) {
        this.enter('lost');
        screenView.card(headline, words.lostAgain);
      }
      // At random, as many come back at once.
      return setTimeout(() => this.comeBack(), 500 + 1000 * Math.random());
    }
    this.leave();
    this.askForCode(headline);
  },

  comeBack() {
    if (!this.lostSince || this.socket || this.hasLeft) return;
    this.open(() => this.send({ t: 'resume', token: this.token }));
  },

  // MARK: What the host says

  message(message) {
    switch (message.t) {
      case 'ping': return this.send({ t: 'pong' });
      case 'no': return this.wrongCode(message.pause);
      case 'wait':
        this.enter('asked');
        return screenView.card(words.asked);
      case 'in': return this.letIn(message.token ?? null);
      case 'offer': return this.offered(message.sdp);
      case 'gateway': return this.sentToGateway(message);
      case 'renewed':
        if (this.entry) [this.entry.token, this.entry.relays] = [message.token, message.relays];
        return;
      case 'stream': return this.described(message);
      case 'again': return this.cameBack();
      case 'expired':
        this.token = null;
        return this.lose();
      case 'size':
        this.size = message;
        return this.stream?.sized?.(message.w, message.h);
      case 'idle': return this.idle();
      case 'shared':
        this.isIdle = false;
        return this.expectPicture();
      case 'paused': this.isPaused = true; return this.showHeld();
      case 'resumed':
        this.isPaused = false;
        this.expectPicture();
        return this.showHeld();
      case 'visibility': this.hidden = message.what; return this.showHeld();
      case 'caption': return spoken.caption(message.text);
      case 'note': return spoken.note(message.from, message.text);
      case 'failed': return this.failed();
      case 'unusable':
        this.over('unusable');
        return this.unusable();
      case 'ended': return this.over('ended', words.ended, words.endedDetail);
      case 'kicked': return this.over('kicked', words.kicked, words.kickedDetail);
      case 'refused': return this.refused(message);
    }
  },

  refused({ why, reason }) {
    // The host waits for another code for a while only; the next one opens another socket.
    if (this.state === 'code') return this.closeSocket();
    const saysAll = ['declined', 'unanswered', 'away', 'manyHere'].includes(why);
    const detail = language === 'en' && reason && !saysAll ? `${reason}.` : '';
    this.over('refused', words.refused[why] ?? words.refused.closed, detail);
  },

  // MARK: The stream

  letIn(token) {
    this.leaveStream();
    this.lostSince = this.size = null;
    this.token = token;
    this.enter('waiting');
    screenView.card(words.letIn, words.waiting);
  },

  begun(stream, way) {
    this.stream = stream;
    this.hasPicture = false;
    screenView.way(way);
  },

  get streamEvents() {
    return {
      answer: sdp => this.send({ t: 'answer', sdp }),
      drawn: number => this.send({ t: 'drawn', n: number }),
      picture: () => this.seen(),
      sound: () => soundControl.offer(this.stream),
      heard: isOn => this.send({ t: 'sound', on: isOn }),
      failed: () => this.broken(),
    };
  },

  offered(sdp) {
    this.begun(new PacketStream(this.streamEvents), 'packets');
    this.stream.offer(sdp);
    this.expectPicture();
  },

  /// By UDP it should come before long, unless nothing is shared.
  expectPicture() {
    const { stream } = this;
    if (!(stream instanceof PacketStream)) return;
    clearTimeout(this.patience);
    this.patience = setTimeout(() => {
      if (this.stream !== stream || this.hasPicture || this.isPaused || this.isIdle) return;
      if (!this.entry) return this.noDatagrams();
      const detail = root.gateway ? words.gatewayNoPictureDetail : words.gatewayBlocked;
      this.gatewayOver('unreachable', words.gatewayNoPicture, detail);
    }, this.entry ? 15000 : 12000);
  },

  /// Nothing is shared at present: the last picture goes.
  idle() {
    this.isIdle = true;
    this.isPaused = false;
    this.hidden = 'visible';
    this.hasPicture = false;
    spoken.clear();
    statistics.hide();
    screenView.banner('');
    screenView.picture(false);
    if (this.state !== 'playing') return;
    this.enter('waiting');
    screenView.card(words.letIn, words.waiting);
  },

  described(message) {
    if (!(this.stream instanceof UnitStream)) this.begun(new UnitStream(this.streamEvents), 'units');
    this.stream.describe(message);
  },

  seen() {
    // One of what was shared before may come late.
    if (this.isIdle) return;
    if (this.hasPicture && this.state === 'playing') return;
    this.hasPicture = true;
    if (this.state !== 'waiting') return;
    if (this.entry) {
      [this.gatewayLostSince, this.destroyedSince, this.tries] = [null, null, 0];
      this.sayWatching(true);
    }
    this.enter('playing');
    screenView.picture(true);
    screenView.card(null);
    this.showHeld();
    this.keepAwake();
  },

  /// The socket is back; the stream by WebRTC went on meanwhile, the other one begins with a keyframe.
  cameBack() {
    this.lostSince = null;
    // What still holds follows.
    this.forgetHeld();
    spoken.caption('');
    if (this.entry) {
      this.sayWatching(this.state === 'playing');
      this.expectPicture();
      return this.showHeld();
    }
    screenView.banner('');
    this.enter('waiting');
    screenView.card(words.letIn, words.waiting);
    if (this.stream instanceof PacketStream && this.hasPicture) this.seen();
  },

  /// The decoder or the connection has given up.
  broken() {
    if (this.state === 'lost' || this.isOver) return;
    if (this.entry) return this.gatewayLost();
    // Its decoder doesn't take this stream: the next try is by WebRTC.
    if (this.stream instanceof UnitStream && !this.hasPicture) UnitStream.hasFailed = true;
    if (this.stream instanceof UnitStream && this.token !== null && this.hasPicture) return this.lose();
    if (this.stream instanceof PacketStream && !this.hasPicture) return this.noDatagrams();
    this.failed();
  },

  failed() {
    this.leave();
    this.askForCode(words.failed);
  },

  noDatagrams() {
    if (isSecureContext && location.protocol === 'https:') return this.failed();
    this.over('unreachable', words.noDatagrams, words.noDatagramsDetail, { secure: secureAddress });
  },

  showHeld() {
    if (this.isOver) return;
    const isSilent = this.arrived?.checks >= mostChecks;
    const held = this.isPaused ? words.paused : words.hidden[this.hidden] ?? '';
    screenView.banner(isSilent ? words.gatewaySilent(clock(this.arrived.since)) : held);
    if (this.state !== 'waiting') return;
    if (this.isPaused) screenView.card(words.pausedHeadline, words.pausedDetail);
    else screenView.card(words.letIn, this.entry ? words.waitingGateway : words.waiting);
  },

  // MARK: Ends

  /// There is nothing more to come: neither a stream nor a gateway that can be tried again.
  get hasLeft() { return this.isOver && !this.entry; },

  get isOver() { return ['ended', 'kicked', 'refused', 'unusable', 'unreachable'].includes(this.state); },

  /// It can begin anew, by another code.
  over(state, headline, detail, parts = { again: true }) {
    this.enter(state);
    this.leave();
    if (headline) screenView.card(headline, detail, parts);
  },

  /// Ends the stream and the conversation, and forgets what was lost.
  leave() {
    this.leaveStream();
    this.closeSocket();
    this.entry = this.token = this.lostSince = this.gatewayLostSince = this.destroyedSince = null;
  },

  /// Ends the stream, and forgets what the host has said about it.
  leaveStream() {
    this.endStream();
    this.forgetHeld();
    spoken.clear();
    screenView.banner('');
  },

  forgetHeld() {
    this.isIdle = false;
    this.isPaused = false;
    this.hidden = 'visible';
  },

  endStream() {
    this.lock?.release();
    this.lock = null;
    this.gateway?.close();
    this.gateway = null;
    this.stream?.close();
    this.stream = null;
    this.arrived = null;
    this.hasPicture = false;
    soundControl.clear();
    statistics.hide();
    screenView.banner('');
    screenView.way(null);
  },

  enter(state) {
    this.state = state;
    document.body.dataset.state = state;
  },

  /// A phone's screen stays on while it shows something; by https only, as browsers have it.
  keepAwake() {
    navigator.wakeLock?.request('screen').then(lock => {
      if (this.state !== 'playing') return lock.release();
      this.lock?.release();
      this.lock = lock;
    }).catch(() => {});
  },
};

Object.assign(page, atGateway);

element('entry').addEventListener('submit', event => {
  event.preventDefault();
  page.submit();
});
element('code').addEventListener('input', () => screenView.problem(''));
element('ask').addEventListener('click', () => page.hello(null));
element('again').addEventListener('click', () => page.again());
element('full').addEventListener('click', () => fullScreen.toggle());
element('shot').addEventListener('click', () => takeScreenshot(page.stream));
element('info').addEventListener('click', () => statistics.toggle(() => page.stream));
element('stage').addEventListener('dblclick', () => { if (!element('full').hidden) fullScreen.toggle(); });
// The keys that the buttons' titles name.
addEventListener('keydown', event => {
  if (page.state !== 'playing' || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key.toUpperCase();
  [...element('bar').children].find(one => one.getAttribute('aria-keyshortcuts') === key && !one.hidden)?.click();
});
addEventListener('hashchange', () => { if (location.hash) page.linked(); });
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && page.state === 'playing') page.keepAwake();
});
setInterval(() => {
  const isSilent = () => page.socket && performance.now() - page.heard > silence;
  // A page that was stopped, as when a lid was closed, hasn't read yet what the host has sent meanwhile: it looks twice.
  if (isSilent()) setTimeout(() => { if (isSilent()) page.lose(); }, 2000);
}, 1000);
setInterval(() => page.checkArrival().catch(() => {}), checkInterval);
page.begin();
