// What is to be seen: the card with its headline, the picture, the toolbar.

const element = id => document.getElementById(id);

const screenView = {
  /// Shows the card, or the picture alone if `headline` is null. `parts` are the card's parts that are shown.
  card(headline, detail = '', parts = {}) {
    document.body.classList.toggle('playing', headline === null);
    element('bar').hidden = headline !== null;
    element('detail').textContent = detail;
    if (headline !== null) element('headline').textContent = headline;
    const link = parts.secure;
    element('secure').hidden = !link;
    if (link) element('secure').href = link;
    element('entry').hidden = !parts.entry;
    element('ask').hidden = !parts.ask;
    element('again').hidden = !parts.again;
    element('protection').hidden = !(parts.entry || parts.ask);
    if (headline === null) this.wake();
  },

  /// A sentence over the picture; empty: none.
  banner(text) {
    // The same text once more would be read out once more.
    if (element('banner').textContent !== text) element('banner').textContent = text;
    document.body.classList.toggle('held', text !== '');
  },

  /// Names a button of the toolbar. Its title also says the key that does the same.
  name(id, text, label = id) {
    element(label).textContent = text;
    element(id).title = `${text} (${element(id).getAttribute('aria-keyshortcuts')})`;
  },

  problem(text) { element('problem').textContent = text; },

  /// How the picture comes: 'packets' or 'units'; null: there is none.
  way(way) {
    document.body.classList.toggle('packets', way === 'packets');
    document.body.classList.toggle('units', way === 'units');
    element('full').hidden = !fullScreen.isPossible(way);
    if (way === null) this.picture(false);
  },

  picture(isThere) { document.body.classList.toggle('picture', isThere); },

  /// The picture's size. `shown`: that of the video, which is a column or a row larger where the size is odd.
  size(width, height, shown = { width, height }) {
    const crop = (own, all) => (all > own && all - own <= 1 ? all / own : 1);
    const style = document.documentElement.style;
    style.setProperty('--ratio', width / height);
    style.setProperty('--cropX', crop(width, shown.width));
    style.setProperty('--cropY', crop(height, shown.height));
  },

  /// The toolbar and the pointer, until nothing was touched for a while.
  wake() {
    document.body.classList.remove('idle');
    clearTimeout(this.sleep);
    this.sleep = setTimeout(() => {
      const isUsed = element('bar').contains(document.activeElement) && document.activeElement.matches(':focus-visible');
      if (document.body.classList.contains('playing') && !isUsed) document.body.classList.add('idle');
    }, 3000);
  },
};

for (const [id, text] of Object.entries({
  codeLabel: words.codeLabel[root.code] ?? '', enter: words.watch, ask: words.ask, again: words.again, secure: words.toSecure,
})) element(id).textContent = text;
for (const id of ['full', 'shot', 'info']) screenView.name(id, words[id]);
screenView.name('sound', words.sound, 'soundName');
const isSecure = location.protocol === 'https:';
element('protection').textContent = root.gateways
  ? (isSecure ? `${words.protectionSecure} ${words.protectionGateway}` : words.protectionGatewayPlain)
  : isSecure ? words.protectionSecure : words.protectionPlain(words.codeRead[root.code]);
element('volume').setAttribute('aria-label', words.volume);
element('bar').setAttribute('aria-label', words.bar);
element('video').setAttribute('aria-label', words.picture);
element('canvas').setAttribute('aria-label', words.picture);
for (const event of ['pointermove', 'pointerdown', 'keydown', 'focusin']) {
  addEventListener(event, () => screenView.wake(), { passive: true });
}

// Captions, and notes that stay for a while.
const spoken = {
  caption(text) { element('caption').textContent = text; },
  note(sender, text) {
    const item = document.createElement('li');
    item.textContent = `${sender ?? words.someone}: ${text}`;
    const list = element('notes');
    list.append(item);
    while (list.children.length > 3) list.firstChild.remove();
    setTimeout(() => item.remove(), 12000);
  },
  clear() {
    element('caption').textContent = '';
    element('notes').replaceChildren();
  },
};
