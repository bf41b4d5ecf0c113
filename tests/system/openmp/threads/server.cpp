// A server of std::thread on the loopback device and its clients: a thread per connection, words counted in a
// map under a lock. Usage: server [clients] [requests of each].
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

std::map<std::string, long> counts;
std::mutex guard;
long served;

// Closes its descriptor.
struct Connection {
  explicit Connection(int of) : descriptor(of) { CHECK(descriptor >= 0); }
  Connection(const Connection&) = delete;
  ~Connection() { close(descriptor); }

  void send_line(const std::string& line) const {
    const std::string text = line + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = send(descriptor, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      CHECK(count > 0);
      sent += static_cast<std::size_t>(count);
    }
  }

  // False at the end.
  bool receive_line(std::string& line) {
    for (;;) {
      const std::size_t end = received.find('\n');
      if (end != std::string::npos) {
        line = received.substr(0, end);
        received.erase(0, end + 1);
        return true;
      }
      char bytes[500];
      const ssize_t count = recv(descriptor, bytes, sizeof bytes, 0);
      CHECK(count >= 0);
      if (count == 0) return false;
      received.append(bytes, static_cast<std::size_t>(count));
    }
  }

  int descriptor;
  std::string received;
};

// Answers `word` with the number of times that it has come.
void serve(int descriptor) {
  Connection client(descriptor);
  for (std::string word; client.receive_line(word);) {
    long count = 0;
    {
      const std::lock_guard hold(guard);
      count = ++counts[word];
      ++served;
    }
    client.send_line(word + " " + std::to_string(count));
  }
}

void accept_all(int listener, int clients) {
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    const int descriptor = accept(listener, nullptr, nullptr);
    CHECK(descriptor >= 0);
    threads.emplace_back(serve, descriptor);
  }
  for (std::thread& thread : threads) thread.join();
}

void ask(sockaddr_in address, int me, int requests) {
  Connection server(socket(AF_INET, SOCK_STREAM, 0));
  CHECK(connect(server.descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const std::string own = "client" + std::to_string(me);
  for (int i = 1; i <= requests; ++i) {
    server.send_line(i % 2 == 0 ? own : "all");
    std::string answer;
    CHECK(server.receive_line(answer));
    CHECK(i % 2 != 0 || answer == own + " " + std::to_string(i / 2));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int clients = number_of(argc, argv, 1, 3, team_max), requests = number_of(argc, argv, 2, 20, 1 << 24);
  const Connection listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  CHECK(bind(listener.descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0);
  CHECK(getsockname(listener.descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  CHECK(listen(listener.descriptor, clients) == 0);
  const double start = seconds();
  std::thread server(accept_all, listener.descriptor, clients);
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) threads.emplace_back(ask, address, i, requests);
  for (std::thread& thread : threads) thread.join();
  server.join();
  CHECK(served == static_cast<long>(clients) * requests);
  CHECK(counts["all"] == static_cast<long>(clients) * ((requests + 1) / 2));
  printf("server: %ld requests of %d clients, time %.6f s\n", served, clients, seconds() - start);
  return 0;
}
