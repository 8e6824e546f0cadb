'use strict';
// What the page says, in English and German. The sentences are those of the native window.

const root = document.documentElement.dataset;
const hostName = document.getElementById('host').textContent;
const quoted = { en: `“${hostName}”`, de: `„${hostName}“` };

const languages = {
  en: {
    // A code that serves any number is in a file, and the host need not show it.
    typeCode: {
      one: `Type the code that the screen of ${quoted.en} shows`,
      any: `Type the code for ${quoted.en}`,
    },
    codeLabel: { one: 'The six digits that the host shows', any: 'The six digits' },
    watch: 'Watch',
    ask: 'Ask to be let in',
    askOnly: `Ask the person at ${quoted.en} to let you in`,
    sixDigits: 'The code has six digits.',
    wrongCode: { one: 'That isn’t the code that the host shows.', any: 'That isn’t the code.' },
    wrongCodeWait: {
      one: seconds => `Wrong codes were typed too often. In ${seconds} s, type the code that the host shows then.`,
      any: seconds => `Wrong codes were typed too often. In ${seconds} s, type the code again.`,
    },
    noEntry: `${quoted.en} lets nobody in by the web at the moment`,
    connecting: `Connecting to ${quoted.en}…`,
    asked: `The person at ${quoted.en} is asked to let you in`,
    letIn: `${quoted.en} has let you in`,
    waiting: 'Waiting for the picture…',
    paused: `${quoted.en} has paused. Its last picture stays until it resumes.`,
    pausedHeadline: `${quoted.en} has paused`,
    pausedDetail: 'The picture comes when it resumes.',
    hidden: {
      windowHidden: 'The shared window is hidden: it is minimised, or on another workspace. This is its last picture.',
      monitorOff: 'The shared monitor is off. This is its last picture; it goes on when it is back.',
      regionOutside: 'The shared part of the screen is gone. This is the last picture.',
      screenLocked: 'The shared screen is locked. This is its last picture; it goes on when it is unlocked.',
      consentAwaited: 'The shared desktop asks its person again. This is its last picture.',
      hostLost: `The machine behind ${quoted.en} can’t be reached. This is its last picture; it goes on when it is back.`,
      hostEnded: `The machine behind ${quoted.en} shares nothing any more. This is its last picture.`,
    },
    lost: since => `${quoted.en} hasn’t been reachable since ${since}`,
    lostAgain: 'The network or that machine may be down. Trying again…',
    anew: {
      one: 'To begin anew, type the code that the host shows now.',
      any: 'To begin anew, type the code again.',
      no: 'To begin anew, ask again.',
    },
    failed: 'The stream has broken off',
    noDatagrams: 'No picture arrives',
    noDatagramsDetail: 'The host has let you in, but nothing comes by UDP: a firewall may be in between. '
      + 'By https the picture needs no UDP:',
    ended: `${quoted.en} has ended its share`,
    endedDetail: 'Load the page again when it shares again.',
    kicked: `${quoted.en} has ended your stream`,
    kickedDetail: 'The person there has sent this browser away.',
    refused: {
      declined: `The person at ${quoted.en} has declined`,
      unanswered: `Nobody at ${quoted.en} has answered`,
      closed: `${quoted.en} lets nobody new in`,
      busy: `${quoted.en} has too many viewers or questions; try again later`,
      away: 'A browser of this address was sent away a moment ago; it may come again in a minute',
      manyHere: 'Too many browsers of this address watch already; try again when one has left',
      violation: 'The host hasn’t understood this page; load it again',
    },
    unusableGateway: 'It has no H.264 in WebRTC. Another browser can.',
    linkNeeded: 'Open the link that the host gives you',
    linkNeededDetail: address => 'A link is for one share: the next one has another.'
      + (address ? ` At ${address} you can type the host’s code instead.` : ''),
    waitingGateway: 'The picture comes by a gateway…',
    gatewayUnreachable: 'The gateway can’t be reached',
    gatewayUnreachableDetail: 'This browser can’t reach the gateway that carries the picture: it may be off, behind a '
      + 'firewall, or have a certificate that this browser doesn’t trust.',
    gatewayRefused: 'The gateway doesn’t let you watch',
    gatewayNoPicture: 'No picture arrives from the gateway',
    gatewayNoPictureDetail: 'The host may have paused. If not, a firewall may keep out what the gateway sends by UDP.',
    gatewayBlocked: 'A firewall may keep out what the gateway sends by UDP.',
    gatewaySilent: since => `No picture has come since ${since}. This is the last one.`,
    gatewayLost: since => `The gateway has had no picture since ${since}`,
    gatewayAgain: 'The share may have ended, or the gateway may begin anew. Trying again…',
    again: 'Try again',
    insecure: 'This browser can show the picture by https only',
    insecureDetail: 'It has no H.264 in WebRTC.',
    secureHost: `${quoted.en} shows its picture by https only`,
    ownCertificate: 'The browser may warn of the certificate there: it is the host’s own.',
    toSecure: 'Go on by https',
    unusable: 'This browser can’t show the picture',
    unusableDetail: 'It has neither WebCodecs nor H.264 in WebRTC. A newer browser, or another one, can.',
    unusableSecureHost: 'This host needs a browser with WebCodecs: a newer one, or another one.',
    codeRead: {
      one: ' Whoever listens on the network can read this code, which is used up then.',
      any: ' Whoever listens on the network can read this code, and watch with it, too.',
      no: '',
    },
    protectionPlain: codeRead => `Over http: picture and sound are encrypted.${codeRead} Whoever can change what passes on the `
      + 'network could see everything. Captions and notes come over https only.',
    protectionSecure: 'Over https everything is encrypted. If your browser has warned of the certificate, only comparing its '
      + 'fingerprint with the one at the host shows that nobody is in between.',
    protectionGateway: 'The picture comes by a gateway, which can see it.',
    protectionGatewayPlain: 'Over http, and by a gateway: picture and sound are encrypted on their way, and the gateway can see '
      + 'them. Whoever listens on the network can read what this page is told, and watch, too. Over https '
      + 'listening isn’t enough. Captions and notes come over https only.',
    sound: 'Sound', isOn: ': on', isOff: ': off', volume: 'Volume',
    full: 'Full screen', window: 'Leave full screen', shot: 'Screenshot', info: 'Statistics', bar: 'Controls',
    picture: 'The shared screen', someone: 'The host',
    figures: {
      rate: 'fps', trip: 'ms ↔', waited: 'ms buffer', queue: 'queue', lost: 'lost', dropped: 'dropped',
      keyframes: 'keyframes',
    },
  },
  de: {
    typeCode: {
      one: `Den Code eingeben, den der Bildschirm von ${quoted.de} zeigt`,
      any: `Den Code für ${quoted.de} eingeben`,
    },
    codeLabel: { one: 'Die sechs Ziffern, die der Host zeigt', any: 'Die sechs Ziffern' },
    watch: 'Ansehen',
    ask: 'Um Einlass bitten',
    askOnly: `Die Person an ${quoted.de} um Einlass bitten`,
    sixDigits: 'Der Code hat sechs Ziffern.',
    wrongCode: { one: 'Das ist nicht der Code, den der Host zeigt.', any: 'Das ist nicht der Code.' },
    wrongCodeWait: {
      one: seconds => `Zu oft wurden falsche Codes eingegeben. In ${seconds} s den Code eingeben, den der Host dann zeigt.`,
      any: seconds => `Zu oft wurden falsche Codes eingegeben. In ${seconds} s den Code noch einmal eingeben.`,
    },
    noEntry: `${quoted.de} lässt zurzeit niemanden über das Web ein`,
    connecting: `Verbindung mit ${quoted.de}…`,
    asked: `Die Person an ${quoted.de} wird um Einlass gebeten`,
    letIn: `${quoted.de} hat dich eingelassen`,
    waiting: 'Warten auf das Bild…',
    paused: `${quoted.de} hat angehalten. Das letzte Bild bleibt, bis es weitergeht.`,
    pausedHeadline: `${quoted.de} hat angehalten`,
    pausedDetail: 'Das Bild kommt, wenn es weitergeht.',
    hidden: {
      windowHidden: 'Das geteilte Fenster ist verborgen: minimiert oder auf einer anderen Arbeitsfläche. '
        + 'Dies ist sein letztes Bild.',
      monitorOff: 'Der geteilte Monitor ist aus. Dies ist sein letztes Bild; es geht weiter, wenn er wieder da ist.',
      regionOutside: 'Der geteilte Teil des Bildschirms ist weg. Dies ist das letzte Bild.',
      screenLocked: 'Der geteilte Bildschirm ist gesperrt. Dies ist sein letztes Bild; es geht weiter, wenn er entsperrt ist.',
      consentAwaited: 'Der geteilte Rechner fragt seinen Menschen noch einmal. Dies ist sein letztes Bild.',
      hostLost: `Der Rechner hinter ${quoted.de} ist nicht zu erreichen. Dies ist sein letztes Bild; es geht weiter, wenn er wieder da ist.`,
      hostEnded: `Der Rechner hinter ${quoted.de} teilt nichts mehr. Dies ist sein letztes Bild.`,
    },
    lost: since => `${quoted.de} ist seit ${since} nicht erreichbar`,
    lostAgain: 'Vielleicht ist das Netz oder der Rechner ausgefallen. Neuer Versuch…',
    anew: {
      one: 'Um neu zu beginnen, den Code eingeben, den der Host jetzt zeigt.',
      any: 'Um neu zu beginnen, den Code noch einmal eingeben.',
      no: 'Um neu zu beginnen, noch einmal um Einlass bitten.',
    },
    failed: 'Der Stream ist abgebrochen',
    noDatagrams: 'Es kommt kein Bild an',
    noDatagramsDetail: 'Der Host hat dich eingelassen, aber über UDP kommt nichts an: vielleicht ist eine Firewall dazwischen. '
      + 'Über https braucht das Bild kein UDP:',
    ended: `${quoted.de} teilt nicht mehr`,
    endedDetail: 'Die Seite neu laden, wenn wieder geteilt wird.',
    kicked: `${quoted.de} hat deinen Stream beendet`,
    kickedDetail: 'Die Person dort hat diesen Browser weggeschickt.',
    refused: {
      declined: `Die Person an ${quoted.de} hat abgelehnt`,
      unanswered: `Niemand an ${quoted.de} hat geantwortet`,
      closed: `${quoted.de} lässt niemanden neu ein`,
      busy: `${quoted.de} hat zu viele Zuschauer oder Anfragen; später noch einmal versuchen`,
      away: 'Ein Browser dieser Adresse wurde eben weggeschickt; in einer Minute darf er wiederkommen',
      manyHere: 'Von dieser Adresse sehen schon zu viele Browser zu; noch einmal versuchen, wenn einer gegangen ist',
      violation: 'Der Host hat diese Seite nicht verstanden; bitte neu laden',
    },
    unusableGateway: 'Er hat kein H.264 in WebRTC. Ein anderer kann es.',
    linkNeeded: 'Den Link öffnen, den der Host gibt',
    linkNeededDetail: address => 'Ein Link gilt für einmal Teilen: beim nächsten Mal ist es ein anderer.'
      + (address ? ` Unter ${address} kann man stattdessen den Code des Hosts eingeben.` : ''),
    waitingGateway: 'Das Bild kommt über ein Gateway…',
    gatewayUnreachable: 'Das Gateway ist nicht erreichbar',
    gatewayUnreachableDetail: 'Dieser Browser erreicht das Gateway nicht, über das das Bild kommt: es ist vielleicht aus, '
      + 'hinter einer Firewall oder hat ein Zertifikat, dem dieser Browser nicht traut.',
    gatewayRefused: 'Das Gateway lässt dich nicht zusehen',
    gatewayNoPicture: 'Vom Gateway kommt kein Bild an',
    gatewayNoPictureDetail: 'Vielleicht hat der Host angehalten. Wenn nicht, hält vielleicht eine Firewall ab, was das Gateway '
      + 'über UDP schickt.',
    gatewayBlocked: 'Vielleicht hält eine Firewall ab, was das Gateway über UDP schickt.',
    gatewaySilent: since => `Seit ${since} ist kein Bild gekommen. Dies ist das letzte.`,
    gatewayLost: since => `Das Gateway hat seit ${since} kein Bild`,
    gatewayAgain: 'Vielleicht wird nicht mehr geteilt, oder das Gateway beginnt neu. Neuer Versuch…',
    again: 'Noch einmal',
    insecure: 'Dieser Browser kann das Bild nur über https zeigen',
    insecureDetail: 'Er hat kein H.264 in WebRTC.',
    secureHost: `${quoted.de} zeigt sein Bild nur über https`,
    ownCertificate: 'Vielleicht warnt der Browser dort vor dem Zertifikat: es ist das eigene des Hosts.',
    toSecure: 'Weiter über https',
    unusable: 'Dieser Browser kann das Bild nicht zeigen',
    unusableDetail: 'Er hat weder WebCodecs noch H.264 in WebRTC. Ein neuerer oder ein anderer kann es.',
    unusableSecureHost: 'Dieser Host braucht einen Browser mit WebCodecs: einen neueren oder einen anderen.',
    codeRead: {
      one: ' Wer im Netz mithört, kann diesen Code lesen, der dann verbraucht ist.',
      any: ' Wer im Netz mithört, kann diesen Code lesen und damit auch zusehen.',
      no: '',
    },
    protectionPlain: codeRead => `Über http: Bild und Ton sind verschlüsselt.${codeRead} Wer verändern kann, was durch das Netz `
      + 'geht, könnte alles sehen. Untertitel und Notizen kommen nur über https.',
    protectionSecure: 'Über https ist alles verschlüsselt. Hat der Browser vor dem Zertifikat gewarnt, zeigt nur der Vergleich '
      + 'seines Fingerabdrucks mit dem am Host, dass niemand dazwischen ist.',
    protectionGateway: 'Das Bild kommt über ein Gateway, das es sehen kann.',
    protectionGatewayPlain: 'Über http und ein Gateway: Bild und Ton sind unterwegs verschlüsselt, und das Gateway kann sie sehen. '
      + 'Wer im Netz mithört, kann lesen, was dieser Seite gesagt wird, und auch zusehen. Bei https '
      + 'reicht Mithören nicht. Untertitel und Notizen kommen nur über https.',
    sound: 'Ton', isOn: ': an', isOff: ': aus', volume: 'Lautstärke',
    full: 'Vollbild', window: 'Vollbild verlassen', shot: 'Bildschirmfoto', info: 'Statistik', bar: 'Bedienung',
    picture: 'Der geteilte Bildschirm', someone: 'Der Host',
    figures: {
      rate: 'Bilder/s', trip: 'ms ↔', waited: 'ms Puffer', queue: 'wartend', lost: 'verloren', dropped: 'ausgelassen',
      keyframes: 'Schlüsselbilder',
    },
  },
};

// A page by itself (`beamroom web-page`) doesn't know the host's name.
const nameless = {
  en: { letIn: 'The host has let you in', ended: 'The host has ended its share' },
  de: { letIn: 'Der Host hat dich eingelassen', ended: 'Der Host teilt nicht mehr' },
};

const language = (navigator.language || 'en').toLowerCase().startsWith('de') ? 'de' : 'en';
const words = { ...languages[language], ...(root.gateway ? nameless[language] : {}) };
document.documentElement.lang = language;
