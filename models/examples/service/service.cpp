// A service that bounds a network on boxes that programs send through a Unix socket.
//
//   service SOCKET
//
// A request is a line of numbers, the box: all lower ends, then all upper ends. The answer is a
// line of numbers, bounds of the outputs: all lower, then all upper bounds; or "error: ...".
// Answers come in the order of the requests of a connection. Requests that wait, of whatever
// connection, are bounded together, up to NETWORK_BATCH of them in a call. SIGINT or SIGTERM ends
// the service.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "network.h"

namespace {

constexpr std::size_t kInputs = NETWORK_INPUTS, kOutputs = NETWORK_OUTPUTS;
constexpr std::size_t kLongestLine = 1 << 20;

volatile std::sig_atomic_t ended = 0;
void end(int) {
  ended = 1;
}

struct Connection {
  int socket = -1;
  std::string received;     // up to the next line
  std::string answers;      // that are not sent yet
  std::size_t waiting = 0;  // requests without an answer
  bool finished = false;    // sends no more requests
  bool broken = false;      // takes no more answers

  bool is_over() const { return broken || (finished && waiting == 0 && answers.empty()); }
};

struct Request {
  Connection* from = nullptr;
  std::vector<float> box;  // lower ends, upper ends; empty: the line is no box
};

// What the service and the network keep: no memory is asked for within a call.
alignas(NETWORK_WORKSPACE_ALIGN) unsigned char workspace[NETWORK_BATCH_WORKSPACE_BYTES];

// Numbers of a line, or nothing where these are not twice the inputs.
std::vector<float> parse(std::string_view line) {
  std::vector<float> numbers;
  while (true) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    float value = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || numbers.size() == 2 * kInputs) return {};
    numbers.push_back(value);
    line.remove_prefix(static_cast<std::size_t>(stop - line.data()));
  }
  return numbers.size() == 2 * kInputs ? numbers : std::vector<float>();
}

void append(std::string& text, float value) {
  char digits[32];
  const auto [stop, error] = std::to_chars(digits, digits + sizeof digits, value);
  (void)error;
  if (!text.empty() && text.back() != '\n') text += ' ';
  text.append(digits, stop);
}

// Bounds the first requests together and writes their answers.
void answer(std::deque<Request>& requests) {
  std::vector<Request> taken;
  std::vector<float> lower, upper;
  while (!requests.empty() && taken.size() < NETWORK_BATCH) {
    taken.push_back(std::move(requests.front()));
    requests.pop_front();
    const std::vector<float>& box = taken.back().box;
    if (box.empty()) continue;
    const auto middle = box.begin() + static_cast<std::ptrdiff_t>(kInputs);
    lower.insert(lower.end(), box.begin(), middle);
    upper.insert(upper.end(), middle, box.end());
  }
  const std::size_t count = lower.size() / kInputs;
  std::vector<float> out_lower(count * kOutputs), out_upper(count * kOutputs);
  std::vector<bf_status> statuses(count);
  bf_status status = BF_OK;
  if (count > 0)
    status = network_bounds_batch(count, lower.data(), upper.data(), out_lower.data(),
                                  out_upper.data(), statuses.data(), workspace, sizeof workspace);
  bool any_refused = false;
  for (const bf_status each : statuses) any_refused = any_refused || each != BF_OK;
  std::size_t box = 0;
  for (const Request& request : taken) {
    std::string& answers = request.from->answers;
    --request.from->waiting;
    if (request.box.empty()) {
      answers += "error: a request is " + std::to_string(2 * kInputs) + " numbers\n";
      continue;
    }
    // A box that is refused has a status of its own, and the call its status; the others have their
    // bounds. A call that is refused itself has no statuses.
    const bf_status own = any_refused ? statuses[box] : status;
    if (own != BF_OK) {
      answers += std::string("error: ") + network_status_text(own) + "\n";
    } else {
      std::string line;
      for (std::size_t i = 0; i < kOutputs; ++i) append(line, out_lower[box * kOutputs + i]);
      for (std::size_t i = 0; i < kOutputs; ++i) append(line, out_upper[box * kOutputs + i]);
      answers += line + "\n";
    }
    ++box;
  }
}

void receive(Connection& connection, std::deque<Request>& requests) {
  char block[65536];
  const ssize_t count = recv(connection.socket, block, sizeof block, 0);
  if (count < 0) {
    connection.broken = errno != EINTR && errno != EAGAIN;
    return;
  }
  connection.finished = count == 0;
  connection.received.append(block, static_cast<std::size_t>(count));
  std::size_t line = 0;
  for (std::size_t stop; (stop = connection.received.find('\n', line)) != std::string::npos;
       line = stop + 1) {
    requests.push_back(
        {&connection, parse(std::string_view(connection.received).substr(line, stop - line))});
    ++connection.waiting;
  }
  connection.received.erase(0, line);
  if (connection.received.size() > kLongestLine) connection.broken = true;
}

void send_answers(Connection& connection) {
  const ssize_t count = send(connection.socket, connection.answers.data(),
                             connection.answers.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count > 0) connection.answers.erase(0, static_cast<std::size_t>(count));
  if (count < 0 && errno != EINTR && errno != EAGAIN) connection.broken = true;
}

int listen_at(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::strcpy(address.sun_path, path);
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (server < 0 || bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(server, 64) != 0)
    return -1;
  return server;
}

void serve(int server) {
  std::list<Connection> connections;
  std::deque<Request> requests;
  while (ended == 0) {
    std::vector<pollfd> polls = {{server, POLLIN, 0}};
    std::vector<Connection*> polled;
    for (Connection& each : connections) {
      const int events = (each.finished ? 0 : POLLIN) | (each.answers.empty() ? 0 : POLLOUT);
      polls.push_back({each.socket, static_cast<short>(events), 0});
      polled.push_back(&each);
    }
    if (poll(polls.data(), polls.size(), requests.empty() ? -1 : 0) < 0) continue;  // a signal
    if (polls[0].revents != 0)
      if (const int made = accept(server, nullptr, nullptr); made >= 0) {
        connections.emplace_back();
        connections.back().socket = made;
      }
    for (std::size_t i = 0; i < polled.size(); ++i) {
      const short events = polls[i + 1].revents;
      if ((events & POLLERR) != 0) polled[i]->broken = true;
      if ((events & (POLLIN | POLLHUP)) != 0 && !polled[i]->finished) receive(*polled[i], requests);
      if ((events & POLLOUT) != 0) send_answers(*polled[i]);
    }
    if (!requests.empty()) answer(requests);
    connections.remove_if([&](const Connection& each) {
      if (!each.is_over()) return false;
      std::erase_if(requests, [&](const Request& request) { return request.from == &each; });
      close(each.socket);
      return true;
    });
  }
  for (const Connection& each : connections) close(each.socket);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s SOCKET\n", argv[0]);
    return 2;
  }
  struct sigaction action = {};
  action.sa_handler = end;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  const int server = listen_at(argv[1]);
  if (server < 0) {
    std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(errno));
    return 1;
  }
  std::printf("listening at %s: %zu inputs, %zu outputs\n", argv[1], kInputs, kOutputs);
  std::fflush(stdout);
  serve(server);
  close(server);
  unlink(argv[1]);
  return 0;
}
