"""Records with a private lttng-sessiond, under an unused user id, so that no
other session daemon of the machine takes part.

    with LttngSession(folder) as lttng:
        trace = lttng.record(["./program"], events=["shop:*"])
"""

import os
import pathlib
import shutil
import signal
import subprocess
import time


class LttngSession:
    def __init__(self, folder, uid=None):
        self.home = pathlib.Path(folder) / "lttng-home"
        # Tests that run as root use a separate user id; others keep theirs.
        self.uid = uid or (30000 + os.getpid() % 30000
                           if os.geteuid() == 0 else None)
        self.daemon = None
        self.count = 0

    @staticmethod
    def missing():
        """Why no session can be recorded here, or None."""
        for program in ("lttng", "lttng-sessiond"):
            if shutil.which(program) is None:
                return f"{program} is not installed (lttng-tools)"
        return None

    def environment(self, **more):
        return dict(os.environ, LTTNG_HOME=str(self.home), HOME=str(self.home),
                    LTTNG_UST_REGISTER_TIMEOUT="60000", **more)

    def as_user(self, command):
        if self.uid is None:
            return [str(word) for word in command]
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}",
                "--clear-groups", "--"] + [str(word) for word in command]

    def __enter__(self):
        self.home.mkdir(parents=True, exist_ok=True)
        if self.uid is not None:
            os.chown(self.home, self.uid, self.uid)
            # Each folder of its path must be accessible.
            for parent in self.home.parents:
                if parent == pathlib.Path("/tmp") or parent == parent.parent:
                    break
                parent.chmod(parent.stat().st_mode | 0o011)
        self.log = open(self.home.parent / "sessiond.log", "wb")
        self.daemon = subprocess.Popen(
            self.as_user(["lttng-sessiond", "--no-kernel"]),
            env=self.environment(), stdout=self.log, stderr=self.log,
            start_new_session=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.daemon.poll() is not None:
                break
            if subprocess.run(self.as_user(["lttng", "--no-sessiond", "list"]),
                              env=self.environment(), timeout=30,
                              capture_output=True).returncode == 0:
                return self
            time.sleep(0.1)
        self.__exit__(None, None, None)
        text = (self.home.parent / "sessiond.log").read_text(errors="replace")
        raise RuntimeError(f"lttng-sessiond did not start: {text[-2000:]}")

    def __exit__(self, *_):
        if self.daemon is None:
            return
        self.daemon.terminate()
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.daemon.pid, signal.SIGKILL)
            self.daemon.wait(20)
        self.log.close()
        self.daemon = None

    def lttng(self, *words):
        done = subprocess.run(
            self.as_user(["lttng", "--no-sessiond", *words]),
            env=self.environment(), capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"lttng {words}: {done.stdout}{done.stderr}")
        return done.stdout

    def record(self, command, events=("*",),
               contexts=("vpid", "vtid", "procname"), channel=(),
               environment=None, rotate=False):
        """Runs `command` in a session, with `rotate` twice, and the session
        rotated in between. Returns the session's folder."""
        self.count += 1
        name = f"s{self.count}"
        output = self.home / name
        self.lttng("create", name, "--output", str(output))
        self.lttng("enable-channel", "-u", *channel, "c")
        for event in events:
            self.lttng("enable-event", "-u", "-c", "c", event)
        if contexts:
            words = [word for context in contexts
                     for word in ("-t", context)]
            self.lttng("add-context", "-u", "-c", "c", *words)
        self.lttng("start")
        for again in range(2 if rotate else 1):
            if again:
                self.lttng("rotate")
            done = subprocess.run(
                self.as_user(command), timeout=600, capture_output=True,
                env=self.environment(**(environment or {})))
            if done.returncode != 0:
                raise RuntimeError(f"{command}: {done.stderr!r}")
        self.lttng("stop")
        self.lttng("destroy")
        return output
