"""Headless Chromium by its debugging protocol over pipes: pages are loaded, keys pressed, values asked for."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
KEYS = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}
START_SECONDS = 60
ANSWER_SECONDS = 60
UNTIL_SECONDS = 20


class Browser:
    """One page of one browser. Its window is as wide as resize() says."""

    def __init__(self, profile):
        for attempt in (1, 2):  # on a busy machine a headless start may hang
            self._start(f"{profile}/{attempt}")
            try:
                target = self.ask("Target.createTarget", url="about:blank")["targetId"]
                break
            except TimeoutError:
                self.close()
                if attempt == 2:
                    raise
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def _start(self, profile):
        """Chromium reads from descriptor 3 and writes to 4."""
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        for end in (theirs_in, theirs_out):
            os.close(end)
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{high[0]} 4>&{high[1]}', CHROMIUM, "--headless", "--no-sandbox",
             "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in high:
            os.close(end)
        self._session, self._number, self._buffer = None, 0, b""
        self.requests, self.errors = [], []

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _next(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            read = os.read(self._in, 1 << 16)
            if not read:
                raise TimeoutError("Chromium has ended")
            self._buffer += read
        message, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(message)
        of_event = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(of_event["request"]["url"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(of_event["exceptionDetails"])
        elif message.get("method") == "Log.entryAdded" and of_event["entry"]["level"] == "error":
            self.errors.append(f"{of_event['entry']['text']} {of_event['entry'].get('url', '')}")
        return message

    def ask(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + (ANSWER_SECONDS if self._session else START_SECONDS)
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def resize(self, width, height=800):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def load(self, url):
        self.ask("Page.navigate", url=url)
        self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def value(self, expression):
        """Of an expression of JavaScript, as Python's."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression):
        """Waits until an expression holds; False if it does not come to."""
        deadline = time.monotonic() + UNTIL_SECONDS
        while time.monotonic() < deadline:
            try:
                if self.value(expression):
                    return True
            except RuntimeError:  # a page that is just being left
                pass
            time.sleep(0.05)
        return False

    def press(self, key):
        """A key: a character or a name of KEYS."""
        text = {} if key in KEYS and key != "Enter" else {"text": "\r" if key == "Enter" else key}
        code = KEYS.get(key) or (ord(key.upper()) if key.isalnum() else 0)
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        for character in text:
            self.press(character)
