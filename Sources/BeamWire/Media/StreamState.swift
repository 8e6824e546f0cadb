import BeamMedia

/// The host's state (sealed, kind 0xB4): that it is there, which frame it sent last, and its bandwidth estimate.
/// Without it a viewer wouldn't notice the loss of the last frame before the screen comes to rest.
package struct StreamState: Hashable, Sendable {
    /// The host's bandwidth estimate for the viewer's path, and its sending rate, in kbit/s.
    package struct Rates: Hashable, Sendable {
        package var estimated: UInt32
        package var used: UInt32
        /// The path limits the rate, not the host's options.
        package var isPathBound = false

        package init(estimated: UInt32, used: UInt32, isPathBound: Bool = false) {
            self.estimated = estimated
            self.used = used
            self.isPathBound = isPathBound
        }
    }

    package var layer: UInt8 = 0
    /// The newest frame of which something was sent; nil before the first.
    package var newest: SequenceNumber?
    package var rates: Rates?
    /// The host hasn't heard from the viewer for a while, and wants a report at once.
    package var wantsReport = false
    /// A token that the viewer returns in a hello from the address where this arrived.
    package var challenge: UInt64?
    /// The number of a probe, which the viewer acknowledges.
    package var probe: UInt16?
    /// The number of the newest change that was sent as a patch.
    package var newestChange: UInt32?
    /// Hashes of the picture, in pieces as long as an item.
    package var hashes: [PictureHashes] = []

    package init(
        layer: UInt8 = 0, newest: SequenceNumber?, rates: Rates? = nil, wantsReport: Bool = false,
        challenge: UInt64? = nil, probe: UInt16? = nil, newestChange: UInt32? = nil
    ) {
        self.newestChange = newestChange
        self.layer = layer
        self.newest = newest
        self.rates = rates
        self.wantsReport = wantsReport
        self.challenge = challenge
        self.probe = probe
    }

    /// Reads what is valid; invalid items are left out.
    package init(_ plaintext: UnsafeRawBufferPointer) {
        var state = StreamState(newest: nil)
        SealedItems.read(plaintext) { (kind: Item, fields) in
            switch kind {
            case .newest:
                guard let number: UInt32 = fields.integer(), let layer: UInt8 = fields.integer() else { return }
                state.newest = SequenceNumber(number)
                state.layer = layer
            case .rates:
                guard let estimated: UInt32 = fields.integer(), let used: UInt32 = fields.integer() else { return }
                state.rates = Rates(estimated: estimated, used: used, isPathBound: fields.integer() == UInt8(1))
            case .reportRequest:
                state.wantsReport = true
            case .challenge:
                state.challenge = fields.integer() ?? state.challenge
            case .probe:
                state.probe = fields.integer() ?? state.probe
            case .newestChange:
                state.newestChange = fields.integer() ?? state.newestChange
            case .hashes:
                guard state.hashes.count < PictureHashes.mostItems, let hashes = PictureHashes(&fields) else { return }
                state.hashes.append(hashes)
            }
        }
        self = state
    }

    package var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    /// Appends the plaintext.
    package func append(to bytes: inout [UInt8]) {
        if let newest {
            SealedItems.append(Item.newest, to: &bytes) {
                $0.append(bigEndian: newest.value)
                $0.append(layer)
            }
        }
        if let rates {
            SealedItems.append(Item.rates, to: &bytes) {
                $0.append(bigEndian: rates.estimated)
                $0.append(bigEndian: rates.used)
                $0.append(rates.isPathBound ? 1 : 0)
            }
        }
        if wantsReport { SealedItems.append(Item.reportRequest, to: &bytes) { _ in } }
        if let challenge { SealedItems.append(Item.challenge, to: &bytes) { $0.append(bigEndian: challenge) } }
        if let probe { SealedItems.append(Item.probe, to: &bytes) { $0.append(bigEndian: probe) } }
        if let newestChange {
            SealedItems.append(Item.newestChange, to: &bytes) { $0.append(bigEndian: newestChange) }
        }
        for hashes in hashes { SealedItems.append(Item.hashes, to: &bytes) { hashes.write(to: &$0) } }
    }
}
