// How the page watches by a gateway: a part of `page`, which keeps its state.

/// So long a page tries to come back to a gateway, which may begin anew; the longest pause between two tries.
const gatewayPatience = 300000, gatewayPause = 8000;
/// A host that destroys its mountpoint may be about to make another one: after so long its share has ended.
const replacing = 20000;
/// Between two checks whether the gateway has sent anything; after so many of them without a byte the picture counts as old.
const checkInterval = 2000, mostChecks = 5;

const atGateway = {
  /// The host has let this browser in, and has a gateway carry the stream. The socket stays: by it the page has its place
  /// there, further tokens for the gateway, and what the host says.
  sentToGateway(entry) {
    this.entry = entry;
    this.tries = 0;
    this.enterGateway();
  },

  enterGateway() {
    this.enter('waiting');
    const client = this.gateway = new GatewayClient(this.entry, {
      offer: sdp => stream.offer(sdp),
      lost: why => this.gatewayLost(why),
      unreachable: () => {
        if (this.gatewayLostSince) return this.gatewayLost();
        this.gatewayOver('unreachable', words.gatewayUnreachable, words.gatewayUnreachableDetail);
      },
      refused: () => this.gatewayOver('refused', words.gatewayRefused, this.wayBack),
    });
    const stream = new PacketStream({
      ...this.streamEvents,
      answer: sdp => client.answer(sdp),
      heard: isOn => client.heard(isOn),
      candidate: candidate => client.candidate(candidate),
    }, this.entry.relays);
    this.begun(stream, 'packets');
    if (this.size) stream.sized(this.size.w, this.size.h);
    client.open();
    this.expectPicture();
    this.showHeld();
  },

  /// By the same entry it can be tried again, unless it was refused. Until then the page keeps its place at the host.
  gatewayOver(state, headline, detail) {
    if (this.isOver) return;
    this.sayWatching(false);
    this.endStream();
    this.gatewayLostSince = this.destroyedSince = null;
    if (state === 'refused') return this.over(state, headline, detail);
    this.enter(state);
    screenView.card(headline, detail, { again: true });
  },

  again() {
    if (!this.entry) return this.askForCode();
    this.tries = 0;
    this.enterGateway();
  },

  /// The share has ended, or the gateway begins anew: the same number and PIN open it then.
  gatewayLost(why) {
    if (this.isOver || !this.entry) return;
    this.gatewayLostSince ??= Date.now();
    if (why === 'destroyed') this.destroyedSince ??= Date.now();
    // A gateway that is stopped says so, too: the host makes its mountpoint again once the gateway is back.
    else if (why !== 'missing') this.destroyedSince = null;
    this.sayWatching(false);
    this.endStream();
    // The host's own page is told the end by the host.
    if (root.gateway && this.destroyedSince && Date.now() - this.destroyedSince > replacing) {
      return this.over('ended', words.ended, this.wayBack);
    }
    const headline = words.gatewayLost(clock(this.gatewayLostSince));
    if (Date.now() - this.gatewayLostSince > gatewayPatience) {
      this.leave();
      return this.askForCode(headline);
    }
    this.enter('lost');
    screenView.card(headline, words.gatewayAgain);
    // At random, as thousands come back at once.
    const pause = Math.min(gatewayPause, 500 * 2 ** this.tries++) * (0.5 + Math.random());
    const entry = this.entry;
    setTimeout(() => { if (this.state === 'lost' && this.entry === entry) this.enterGateway(); }, pause);
  },

  /// The host can't know whether the gateway's picture is there.
  sayWatching(isOn) { if (!root.gateway) this.send({ t: 'watching', on: isOn }); },

  /// A gateway doesn't tell that the host has crashed. A host that runs sends a picture at least every 2 s, even while it has
  /// paused.
  async checkArrival() {
    const { stream } = this;
    if (!this.gateway || this.state !== 'playing') return;
    const { bytes } = await stream.figures();
    if (stream !== this.stream) return;
    // Checks are counted instead of seconds, in which the page itself may have been stopped.
    if (bytes === this.arrived?.bytes) this.arrived.checks += 1;
    else this.arrived = { bytes, since: Date.now(), checks: 0 };
    this.showHeld();
  },
};
