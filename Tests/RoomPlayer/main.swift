import Foundation

/// Plays rooms with adversaries (`Scripts/fuzz --room`): the arguments are the first seed and how many; one core is used, and
/// the exit status is 1 if something was wrong in one of them. `times` instead tells what many people on record cost.

let words = CommandLine.arguments.dropFirst()
if words.elementsEqual(["times"]) {
    let times = try MembershipTimes()
    for (what, time) in times.measure() {
        print("\(what): \(time.formatted(.units(allowed: [.microseconds], width: .narrow)))")
    }
    exit(0)
}
let numbers = words.compactMap { UInt64($0) }
guard numbers.count == 2 else {
    FileHandle.standardError.write(Data("usage: room-player FIRST-SEED COUNT | times\n".utf8))
    exit(64)
}
var failures = 0
for seed in numbers[0]..<numbers[0] + numbers[1] {
    guard let fault = RoomUnderAttack.play(seed: seed) else { continue }
    failures += 1
    print(fault)
    fflush(nil)
}
print("\(numbers[1]) rooms from seed \(numbers[0]) on, \(failures) of them with faults")
exit(failures == 0 ? 0 : 1)
