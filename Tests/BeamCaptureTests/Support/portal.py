"""A mock of xdg-desktop-portal's ScreenCast on a message bus of its own, for the tests.

usage: portal.py ADDRESS [NAME=VALUE …]

    version=4 sources=3 cursors=7    the properties
    interface=no                     the portal runs, but has no ScreenCast
    registry=yes                     it has the host Registry
    refuse=CALL                      that call's answer is 1: the person said no
    fail=CALL                        that call's answer is 2
    error=CALL                       that call is an error of D-Bus
    hang=CALL                        that call isn't answered with a signal
    die=CALL                         the portal ends instead of an answer
    token=TEXT                       what Start gives
    locked=NAME                      that screen saver (org.gnome.ScreenSaver) is active until “unlock” comes
    fail-locked=CALL                 that call's answer is 2 while it is

Each call is written to standard output as a line of JSON.
"""
import json
import os
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

ROOT = "/org/freedesktop/portal/desktop"
CAST = "org.freedesktop.portal.ScreenCast"
settings = {"version": "4", "sources": "3", "cursors": "7", "token": ""}
settings.update(argument.split("=", 1) for argument in sys.argv[2:])


def tell(call, **options):
    print(json.dumps({"call": call, **options}, sort_keys=True), flush=True)


class Signals(dbus.service.Object):
    @dbus.service.signal("org.freedesktop.portal.Request", signature="ua{sv}")
    def Response(self, code, results):
        pass

    @dbus.service.signal("org.freedesktop.portal.Session", signature="")
    def Closed(self):
        pass


def plain(options):
    return {str(key): value if isinstance(value, bool) else int(value) if isinstance(value, int) else str(value)
            for key, value in options.items()}


def answer(call, sender, options, results):
    tell(call, **{key: value for key, value in plain(options).items() if not key.endswith("handle_token")})
    if settings.get("error") == call:
        raise dbus.exceptions.DBusException("not today", name="org.freedesktop.portal.Error.Failed")
    if settings.get("die") == call:
        GLib.idle_add(lambda: os._exit(0))
    path = f"{ROOT}/request/{sender[1:].replace('.', '_')}/{options['handle_token']}"
    if settings.get("hang") != call and settings.get("die") != call:
        fails = settings.get("fail") == call or saver and saver.active and settings.get("fail-locked") == call
        code = 1 if settings.get("refuse") == call else 2 if fails else 0
        # Before the call's reply, as it may happen.
        Signals(bus, path).Response(dbus.UInt32(code), dbus.Dictionary(results if code == 0 else {}, signature="sv"))
    return dbus.ObjectPath(path)


class Portal(dbus.service.Object):
    if settings.get("interface") != "no":
        @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
        def GetAll(self, interface):
            return {"version": dbus.UInt32(settings["version"]),
                    "AvailableSourceTypes": dbus.UInt32(settings["sources"]),
                    "AvailableCursorModes": dbus.UInt32(settings["cursors"])}

        @dbus.service.method(CAST, "a{sv}", "o", sender_keyword="sender")
        def CreateSession(self, options, sender):
            self.session = f"{ROOT}/session/{sender[1:].replace('.', '_')}/{options['session_handle_token']}"
            self.signals = Signals(bus, self.session)
            return answer("CreateSession", sender, options, {"session_handle": self.session})

        @dbus.service.method(CAST, "oa{sv}", "o", sender_keyword="sender")
        def SelectSources(self, session, options, sender):
            return answer("SelectSources", sender, options, {})

        @dbus.service.method(CAST, "osa{sv}", "o", sender_keyword="sender")
        def Start(self, session, parent, options, sender):
            stream = (dbus.UInt32(42), {
                "source_type": dbus.UInt32(1), "position": dbus.Struct((0, -5), signature="ii"),
                "size": dbus.Struct((640, 480), signature="ii"), "pipewire-serial": dbus.UInt64(7000)})
            results = {"streams": dbus.Array([stream], signature="(ua{sv})")}
            if settings["token"]:
                results["restore_token"] = settings["token"]
            return answer("Start", sender, options, results)

        @dbus.service.method(CAST, "oa{sv}", "h")
        def OpenPipeWireRemote(self, session, options):
            tell("OpenPipeWireRemote")
            return dbus.types.UnixFd(os.open("/dev/null", os.O_RDONLY))

    if settings.get("registry") == "yes":
        @dbus.service.method("org.freedesktop.host.portal.Registry", "sa{sv}", "")
        def Register(self, name, options):
            tell("Register", id=str(name))


class ScreenSaver(dbus.service.Object):
    active = True

    @dbus.service.method(settings.get("locked", "org.gnome.ScreenSaver"), "", "b")
    def GetActive(self):
        return self.active


def command(source, condition):
    line = sys.stdin.readline().strip()
    if line == "close":
        portal.signals.Closed()
    if line == "unlock":
        tell("unlock")
        saver.active = False
    if not line:
        os._exit(0)
    return True


DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(sys.argv[1])
portal = Portal(bus, ROOT)
name = dbus.service.BusName("org.freedesktop.portal.Desktop", bus)
saver = saver_name = None
if "locked" in settings:
    saver = ScreenSaver(bus, "/" + settings["locked"].replace(".", "/"))
    saver_name = dbus.service.BusName(settings["locked"], bus)
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, command)
tell("ready")
GLib.MainLoop().run()
