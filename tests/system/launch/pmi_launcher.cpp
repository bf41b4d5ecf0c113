// A foreign launcher, for tests: `pmi_launcher <ranks> <command...>` starts the command so many times and
// serves PMI-1 to it, as Hydra does. Unlike Hydra it ends no process, whatever happens to the other
// processes. Exit status: that of rank 0's process, 128 + signal.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

struct Client {
  pid_t process = -1;
  int socket = -1;
  std::string received;
};

std::string field(const std::string& line, const std::string& name) {
  const std::size_t at = (" " + line).find(" " + name + "=");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 1;
  return line.substr(begin, line.find(' ', begin) - begin);
}

class Server {
 public:
  Server(int ranks, char** command) {
    for (int rank = 0; rank < ranks; ++rank) start(rank, ranks, command);
  }

  int run() {
    while (!reap()) {
      std::vector<pollfd> files;
      for (const Client& client : clients_) files.push_back({client.socket, POLLIN, 0});
      ::poll(files.data(), files.size(), 20);
      for (std::size_t i = 0; i < files.size(); ++i) {
        if (files[i].revents != 0) read_from(clients_[i]);
      }
    }
    return status_;
  }

 private:
  void start(int rank, int ranks, char** command) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    Client client{::fork(), ends[0], ""};
    if (client.process == 0) {
      const int inherited = ::dup(ends[1]);
      ::setenv("PMI_FD", std::to_string(inherited).c_str(), 1);
      ::setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
      ::setenv("PMI_SIZE", std::to_string(ranks).c_str(), 1);
      ::execvp(command[0], command);
      ::_exit(127);
    }
    ::close(ends[1]);
    clients_.push_back(client);
    ++waiting_for_;
  }

  void read_from(Client& client) {
    char bytes[4096];
    const ssize_t count = ::read(client.socket, bytes, sizeof bytes);
    if (count <= 0) {
      ::close(client.socket);
      client.socket = -1;  // poll ignores it
      return;
    }
    client.received.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = client.received.find('\n')) != std::string::npos;) {
      const std::string line = client.received.substr(0, end);
      client.received.erase(0, end + 1);
      obey(client, line);
    }
  }

  void obey(Client& client, const std::string& line) {
    const std::string command = field(line, "cmd");
    if (command == "init") return answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    if (command == "get_my_kvsname") return answer(client, "cmd=my_kvsname kvsname=kvs_of_the_test");
    if (command == "finalize") return answer(client, "cmd=finalize_ack");
    if (command == "put") {
      values_[field(line, "key")] = field(line, "value");
      return answer(client, "cmd=put_result rc=0 msg=success");
    }
    if (command == "get") {
      const auto found = values_.find(field(line, "key"));
      return answer(client, found == values_.end()
                                ? "cmd=get_result rc=-1 msg=key_not_found"
                                : "cmd=get_result rc=0 msg=success value=" + found->second);
    }
    if (command != "barrier_in") return answer(client, "cmd=what");
    if (++in_barrier_ < static_cast<int>(clients_.size())) return;
    in_barrier_ = 0;
    for (const Client& each : clients_) answer(each, "cmd=barrier_out");
  }

  static void answer(const Client& client, const std::string& line) {
    const std::string text = line + "\n";
    ::send(client.socket, text.data(), text.size(), MSG_NOSIGNAL);
  }

  // Whether all have ended.
  bool reap() {
    int how = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &how, WNOHANG)) > 0;) {
      --waiting_for_;
      if (ended == clients_[0].process) status_ = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    }
    return waiting_for_ == 0;
  }

  std::vector<Client> clients_;
  std::map<std::string, std::string> values_;
  int waiting_for_ = 0, in_barrier_ = 0, status_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  return Server(std::atoi(argv[1]), argv + 2).run();
}
