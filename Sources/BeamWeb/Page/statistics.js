// Statistics, screenshot, full screen.

const statistics = {
  timer: null,
  last: null,

  toggle(stream) {
    if (this.timer !== null) return this.hide();
    element('figures').hidden = false;
    element('info').setAttribute('aria-expanded', 'true');
    this.last = null;
    const update = () => this.update(stream()).catch(() => {});
    this.timer = setInterval(update, 1000);
    update();
  },

  hide() {
    clearInterval(this.timer);
    this.timer = null;
    element('figures').hidden = true;
    element('info').setAttribute('aria-expanded', 'false');
  },

  async update(stream) {
    const now = performance.now();
    const figures = await stream?.figures();
    if (!figures) return;
    const last = this.last;
    this.last = { ...figures, now };
    const seconds = last ? (now - last.now) / 1000 : 0;
    const rate = name => (seconds > 0 ? Math.max(0, figures[name] - last[name]) / seconds : 0);
    const number = (name, digits = 0) => (
      figures[name] === undefined ? null : `${figures[name].toFixed(digits)} ${words.figures[name]}`);
    const line = (...parts) => parts.filter(Boolean).join('  ');
    const lines = [
      line(figures.width ? `${figures.width} × ${figures.height}` : null, figures.way),
      `${rate('frames').toFixed(0)} ${words.figures.rate}  ${(rate('bytes') * 8 / 1e6).toFixed(2)} Mbit/s`,
      line(number('trip', 1), number('waited'), number('queue')),
      line(number('lost'), number('dropped'), number('keyframes')),
    ];
    element('figures').textContent = lines.filter(Boolean).join('\n');
  },
};

function takeScreenshot(stream) {
  const { source, width, height } = stream?.picture ?? {};
  if (!width) return;
  const copy = document.createElement('canvas');
  copy.width = width;
  copy.height = height;
  copy.getContext('2d').drawImage(source, 0, 0, width, height, 0, 0, width, height);
  copy.toBlob(blob => {
    const link = document.createElement('a');
    const time = new Date(Date.now() - new Date().getTimezoneOffset() * 60000).toISOString();
    link.download = `${hostName.replace(/[^\p{L}\p{N} _-]/gu, '_')} ${time.slice(0, 10)} ${time.slice(11, 19).replaceAll(':', '.')}.png`;
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }, 'image/png');
}

const fullScreen = {
  /// Undefined on phones that have it for videos only.
  get enter() {
    const all = document.documentElement;
    return all.requestFullscreen ?? all.webkitRequestFullscreen;
  },

  get isOn() { return (document.fullscreenElement ?? document.webkitFullscreenElement ?? null) !== null; },

  /// By WebCodecs the picture is no video.
  isPossible(way) { return Boolean(this.enter) || (way === 'packets' && 'webkitEnterFullscreen' in element('video')); },

  toggle() {
    if (this.isOn) return (document.exitFullscreen ?? document.webkitExitFullscreen).call(document);
    if (this.enter) this.enter.call(document.documentElement)?.catch?.(() => {});
    else element('video').webkitEnterFullscreen?.();
  },

  show() { screenView.name('full', this.isOn ? words.window : words.full); },
};
for (const event of ['fullscreenchange', 'webkitfullscreenchange']) {
  document.addEventListener(event, () => fullScreen.show());
}
