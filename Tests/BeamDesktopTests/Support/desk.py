"""Mocks of logind, UPower, screen savers, BlueZ and a notification service on one message bus, for the tests.

usage: desk.py ADDRESS

Each line on standard input is Python, run in this module. Each is answered by a line of JSON, {"done": NUMBER} or
{"error": TEXT}. Other lines of JSON on standard output tell what was asked of BlueZ and of the notification service.
"""
import json
import os
import sys

import dbus
import dbus.lowlevel
import dbus.service
import dbusmock
from dbus.mainloop.glib import DBusGMainLoop
from dbusmock import mockobject
from gi.repository import GLib

PROPERTIES = "org.freedesktop.DBus.Properties"
MANAGER = "org.freedesktop.DBus.ObjectManager"


def tell(**event):
    print(json.dumps(event), flush=True)


def template(name, main="", path=""):
    """Serves one of dbusmock's templates; `main` and `path` override its name, which is also its interface."""
    module = mockobject.load_module(name)
    own(main or module.BUS_NAME)
    path = path or module.MAIN_OBJ
    mock = dbusmock.DBusMockObject(names[main or module.BUS_NAME], path, main or module.MAIN_IFACE, {})
    mockobject.objects[path] = mock
    mock.AddTemplate(name, dbus.Dictionary({}, signature="sv"))
    return mock


def own(name):
    # Kept, because it would release the name when it is collected, even if that has been taken again.
    if name not in names:
        names[name] = dbus.service.BusName(name, bus, do_not_queue=True)
    bus.request_name(name, dbus.bus.NAME_FLAG_DO_NOT_QUEUE)


def drop(name):
    """Releases the name, and forgets the objects that dbusmock served."""
    bus.release_name(name)
    for path in [path for path in mockobject.objects if path.startswith("/" + name.replace(".", "/"))]:
        mockobject.objects.pop(path).remove_from_connection()


# logind

def logind(by_pid=None, display=None):
    """`by_pid` is the session of every process, `display` the graphical one of every user; None: no such session."""
    mock = template("logind")
    refuse = 'raise dbus.exceptions.DBusException("none", name="org.freedesktop.login1.NoSession")'
    prefix = "/org/freedesktop/login1/session/"
    mock.AddMethod("org.freedesktop.login1.Manager", "GetSessionByPID", "u", "o",
                   f'ret = "{prefix}{by_pid}"' if by_pid else refuse)
    mock.AddMethod("org.freedesktop.login1.Manager", "GetUser", "u", "o",
                   'ret = "/org/freedesktop/login1/user/%d" % args[0]')
    mock.AddMethod("org.freedesktop.login1.Manager", "GetSession", "s", "o",
                   f'ret = "{prefix}" + args[0]\nif ret not in objects: {refuse}')
    mock.AddUser(1000, "somebody", True)
    if display:
        user().Set("org.freedesktop.login1.User", "Display",
                   dbus.Struct((display, dbus.ObjectPath(prefix + display)), signature="so"))
    return mock


def user():
    return mockobject.objects["/org/freedesktop/login1/user/1000"]


def add_session(number, kind="x11", locked=False):
    main = mockobject.objects["/org/freedesktop/login1"]
    path = main.AddSession(number, "seat0", 1000, "somebody", True)
    session(number).Set("org.freedesktop.login1.Session", "Type", kind)
    session(number).Set("org.freedesktop.login1.Session", "LockedHint", locked)
    main.EmitSignal("org.freedesktop.login1.Manager", "SessionNew", "so", [number, dbus.ObjectPath(path)])


def remove_session(number):
    path = "/org/freedesktop/login1/session/" + number
    main = mockobject.objects["/org/freedesktop/login1"]
    main.RemoveObject(path)
    main.EmitSignal("org.freedesktop.login1.Manager", "SessionRemoved", "so", [number, dbus.ObjectPath(path)])


def session(number):
    return mockobject.objects["/org/freedesktop/login1/session/" + number]


def hint(number, locked):
    session(number).UpdateProperties("org.freedesktop.login1.Session", {"LockedHint": dbus.Boolean(locked)})


def ask(number, member):
    session(number).EmitSignal("org.freedesktop.login1.Session", member, "", [])


def forge(path, interface, member, signature="", *arguments):
    """Sends a signal to everybody from a connection that owns no name."""
    other = dbus.bus.BusConnection(sys.argv[1])
    for connection in [name for name in other.list_names() if name.startswith(":")]:
        message = dbus.lowlevel.SignalMessage(path, interface, member)
        message.append(*arguments, signature=signature)
        message.set_destination(connection)
        other.send_message(message)
    # Returns when the bus has passed on what came before.
    other.list_names()


# The screen saver

def screen_saver(name, path, active=False):
    own(name)
    mock = dbusmock.DBusMockObject(names[name], path, name, {})
    mockobject.objects[path] = mock
    mock.AddMethod(name, "GetActive", "", "b", f"ret = {active}")
    savers[name] = mock


def active(name, value):
    savers[name].EmitSignal(name, "ActiveChanged", "b", [value])


# UPower

def upower(percent=50.0, state=2, kind=2, present=True):
    template("upower")
    battery(Percentage=dbus.Double(percent), State=dbus.UInt32(state), Type=dbus.UInt32(kind),
            IsPresent=dbus.Boolean(present))


def battery(**values):
    device = mockobject.objects["/org/freedesktop/UPower/devices/DisplayDevice"]
    device.UpdateProperties("org.freedesktop.UPower.Device", values)


# BlueZ

class Plain(dbus.service.Object):
    """An object whose methods are Python's; dbusmock looks for others first."""

    methods, interface = {}, ""


class Exported(Plain):
    """Properties of one BlueZ object, by interface."""

    def __init__(self, path, interfaces):
        self.path, self.interfaces = path, interfaces
        super().__init__(bus, path)
        bluez_objects[path] = self

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return self.interfaces[interface]

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    def change(self, interface, **values):
        self.interfaces[interface].update(values)
        self.PropertiesChanged(interface, values, [])


class Adapter(Exported):
    """A subset of org.bluez.Adapter1 and org.bluez.LEAdvertisingManager1."""

    refusal = None
    advertisements = {}

    @dbus.service.method("org.bluez.Adapter1", in_signature="a{sv}")
    def SetDiscoveryFilter(self, filter):
        tell(event="filter", filter={str(key): str(value) for key, value in filter.items()})

    @dbus.service.method("org.bluez.Adapter1")
    def StartDiscovery(self):
        self.check("discovery refused")
        tell(event="discovery", on=True)

    @dbus.service.method("org.bluez.Adapter1")
    def StopDiscovery(self):
        tell(event="discovery", on=False)

    @dbus.service.method("org.bluez.LEAdvertisingManager1", in_signature="oa{sv}", sender_keyword="sender",
                         async_callbacks=("done", "failed"))
    def RegisterAdvertisement(self, path, options, sender, done, failed):
        try:
            self.check("advertisement refused")
        except dbus.exceptions.DBusException as refusal:
            return failed(refusal)

        def read(properties):
            self.advertisements[path] = sender
            data = {str(uuid): [int(byte) for byte in bytes] for uuid, bytes in properties["ServiceData"].items()}
            tell(event="advertised", adapter=self.path, kind=str(properties["Type"]), data=data, path=path,
                 discoverable=bool(properties["Discoverable"]), keys=sorted(str(key) for key in properties))
            done()

        bus.call_async(sender, path, PROPERTIES, "GetAll", "s", ["org.bluez.LEAdvertisement1"], read, failed)

    @dbus.service.method("org.bluez.LEAdvertisingManager1", in_signature="o", sender_keyword="sender")
    def UnregisterAdvertisement(self, path, sender):
        if self.advertisements.pop(path, None) != sender:
            raise dbus.exceptions.DBusException("not registered", name="org.bluez.Error.DoesNotExist")
        tell(event="withdrawn", adapter=self.path)

    def release(self):
        """Lets go of all advertisements, as BlueZ does when it gives the room to another."""
        for path, sender in list(self.advertisements.items()):
            bus.call_async(sender, path, "org.bluez.LEAdvertisement1", "Release", "", [], None, None)
        self.advertisements.clear()

    def check(self, what):
        if self.refusal:
            tell(event=what)
            raise dbus.exceptions.DBusException("no", name=self.refusal)


class Root(Plain):
    """BlueZ's object manager."""

    @dbus.service.method(MANAGER, out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {path: exported.interfaces for path, exported in bluez_objects.items()}

    @dbus.service.signal(MANAGER, signature="oa{sa{sv}}")
    def InterfacesAdded(self, path, interfaces):
        pass

    @dbus.service.signal(MANAGER, signature="oas")
    def InterfacesRemoved(self, path, interfaces):
        pass


def bluez():
    global root
    root = root or Root(bus, "/")
    own("org.bluez")


def add_adapter(number=0, powered=True, advertises=True, refusal=None):
    interfaces = {"org.bluez.Adapter1": dbus.Dictionary({"Powered": dbus.Boolean(powered)}, signature="sv")}
    if advertises:
        interfaces["org.bluez.LEAdvertisingManager1"] = dbus.Dictionary({}, signature="sv")
    exported = Adapter(f"/org/bluez/hci{number}", interfaces)
    exported.refusal = refusal
    exported.advertisements = {}
    root.InterfacesAdded(exported.path, interfaces)


def adapter(number=0):
    return bluez_objects[f"/org/bluez/hci{number}"]


def remove(path):
    exported = bluez_objects.pop(path)
    root.InterfacesRemoved(path, list(exported.interfaces))
    exported.remove_from_connection()


def stop_bluez():
    for path in list(bluez_objects):
        bluez_objects.pop(path).remove_from_connection()
    drop("org.bluez")


def service_data(entries):
    return dbus.Dictionary({uuid: dbus.Array([dbus.Byte(byte) for byte in bytes], signature="y", variant_level=1)
                            for uuid, bytes in entries.items()}, signature="sv")


def add_device(number, entries=None, **others):
    values = dbus.Dictionary({"Address": f"00:00:00:00:00:{number:02}", **others}, signature="sv")
    if entries is not None:
        values["ServiceData"] = service_data(entries)
    interfaces = {"org.bluez.Device1": values}
    exported = Exported(f"/org/bluez/hci0/dev_{number}", interfaces)
    root.InterfacesAdded(exported.path, interfaces)


def hear(number, entries):
    bluez_objects[f"/org/bluez/hci0/dev_{number}"].change("org.bluez.Device1", ServiceData=service_data(entries))


# What keeps the machine awake

class Awake(Plain):
    """logind's inhibitor locks, without its sessions: tells of each, and of its end."""

    def __init__(self):
        super().__init__(bus, "/org/freedesktop/login1")

    @dbus.service.method("org.freedesktop.login1.Manager", in_signature="ssss", out_signature="h")
    def Inhibit(self, what, who, _why, mode):
        ours, theirs = os.pipe()
        tell(event="awake", what=what, who=who, mode=mode)
        GLib.io_add_watch(ours, GLib.PRIORITY_DEFAULT, GLib.IO_HUP, self.released)
        descriptor = dbus.types.UnixFd(theirs)
        os.close(theirs)
        return descriptor

    def released(self, ours, _condition):
        os.close(ours)
        tell(event="released")
        return False


def awake():
    names["awake"] = names.get("awake") or Awake()
    own("org.freedesktop.login1")


def cookies(name, path, release):
    """A service of the session that gives numbers for the wish to stay awake."""
    own(name)
    mock = dbusmock.DBusMockObject(names[name], path, name, {})
    mockobject.objects[path] = mock
    inputs = "susu" if "gnome" in name else "ss"
    mock.AddMethod(name, "Inhibit", inputs, "u", "ret = 7")
    mock.AddMethod(name, release, "u", "", "")


# Notices

NOTICES = "org.freedesktop.Notifications"


class Notices(Plain):
    """A notification service that tells what it is asked to show."""

    def __init__(self):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.capabilities = ()
        self.name = "mock"
        self.last = 0
        # Of dunst.
        self.switch = dbus.Dictionary({}, signature="sv")

    @dbus.service.method(NOTICES, in_signature="", out_signature="ssss")
    def GetServerInformation(self):
        return self.name, "", "1", "1.2"

    @dbus.service.method(NOTICES, in_signature="ssa{sv}", out_signature="u")
    def Inhibit(self, entry, reason, _hints):
        tell(event="inhibit", entry=entry, reason=reason)
        return dbus.UInt32(5)

    @dbus.service.method(NOTICES, in_signature="u", out_signature="")
    def UnInhibit(self, number):
        tell(event="uninhibit", number=int(number))

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, _interface):
        return self.switch

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, _interface, name):
        return self.switch[name]

    @dbus.service.method(PROPERTIES, in_signature="ssv", out_signature="")
    def Set(self, _interface, name, value):
        self.switch[name] = value
        tell(event="set", name=name, value=int(value))

    @dbus.service.method(NOTICES, in_signature="", out_signature="as")
    def GetCapabilities(self):
        return dbus.Array(self.capabilities, signature="s")

    @dbus.service.method(NOTICES, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, _application, replaced, icon, title, text, buttons, hints, timeout):
        if not replaced:
            self.last += 1
            replaced = self.last
        tell(event="notice", id=int(replaced), icon=icon, title=title, text=text, buttons=[str(each) for each in buttons],
             urgency=int(hints["urgency"]), timeout=int(timeout))
        return dbus.UInt32(replaced)

    @dbus.service.method(NOTICES, in_signature="u", out_signature="")
    def CloseNotification(self, number):
        tell(event="closed", id=int(number))

    @dbus.service.signal(NOTICES, signature="us")
    def ActionInvoked(self, number, name):
        pass


def notices(*capabilities, name="mock"):
    global notice_service
    notice_service = notice_service or Notices()
    notice_service.capabilities = capabilities
    notice_service.name = name
    own(NOTICES)


def dunst(displayed=0, **switch):
    notices(name="dunst")
    notice_service.switch.update(switch, displayedLength=dbus.UInt32(displayed))


def press(number, name):
    notice_service.ActionInvoked(dbus.UInt32(number), name)


def handle(source, _condition):
    line = source.readline()
    if not line:
        loop.quit()
        return False
    handle.count += 1
    try:
        exec(line, globals())  # pylint: disable=exec-used
        tell(done=handle.count)
    except Exception as error:  # pylint: disable=broad-except
        tell(error=f"{line.strip()}: {error!r}")
    return True


handle.count = 0
DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(sys.argv[1])
names, savers, bluez_objects, root, notice_service = {}, {}, {}, None, None
loop = GLib.MainLoop()
# Unbuffered, so that no line waits in a buffer that the loop doesn't see.
GLib.io_add_watch(open(0, "rb", buffering=0), GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, handle)
tell(ready=True)
loop.run()
