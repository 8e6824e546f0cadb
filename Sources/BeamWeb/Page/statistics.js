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
    const number = (value, digits, unit) => (value === undefined ? null : `${value.toFixed(digits)} ${unit}`);
    const lines = [
      [figures.width ? `${figures.width} × ${figures.height}` : null, figures.way].filter(Boolean).join('  '),
      `${rate('frames').toFixed(0)} fps  ${(rate('bytes') * 8 / 1e6).toFixed(2)} Mbit/s`,
      [number(figures.trip, 1, 'ms ↔'), number(figures.waited, 0, 'ms buffer'), number(figures.queue, 0, 'queue')]
        .filter(Boolean).join('  '),
      [number(figures.lost, 0, 'lost'), number(figures.dropped, 0, 'dropped'), number(figures.keyframes, 0, 'keyframes')]
        .filter(Boolean).join('  '),
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
  get isOn() { return (document.fullscreenElement ?? document.webkitFullscreenElement ?? null) !== null; },

  toggle() {
    if (this.isOn) return (document.exitFullscreen ?? document.webkitExitFullscreen).call(document);
    const all = document.documentElement;
    const enter = all.requestFullscreen ?? all.webkitRequestFullscreen;
    // A phone that has it for videos only.
    if (enter) enter.call(all)?.catch?.(() => {});
    else element('video').webkitEnterFullscreen?.();
  },

  show() { element('full').textContent = this.isOn ? words.window : words.full; },
};
for (const event of ['fullscreenchange', 'webkitfullscreenchange']) {
  document.addEventListener(event, () => fullScreen.show());
}
