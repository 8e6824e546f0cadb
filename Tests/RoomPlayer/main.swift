import Foundation

/// Plays rooms with adversaries: `Scripts/fuzz --room`. Arguments: the first seed and how many; one core is used.
/// The exit status is 1 if something was wrong in one of them.

let arguments = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
guard arguments.count == 2 else {
    FileHandle.standardError.write(Data("usage: room-player FIRST-SEED COUNT\n".utf8))
    exit(64)
}
var failures = 0
for seed in arguments[0]..<arguments[0] + arguments[1] {
    guard let fault = RoomUnderAttack.play(seed: seed) else { continue }
    failures += 1
    print(fault)
    fflush(nil)
}
print("\(arguments[1]) rooms from seed \(arguments[0]) on, \(failures) of them with faults")
exit(failures == 0 ? 0 : 1)
