#include "base/jail/message.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace countrace::base {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 20;

struct alignas(cmsghdr) Control {
  char bytes[CMSG_SPACE(sizeof(int))] = {};
};

bool ReceiveAll(int socket, char* to, std::size_t bytes, ScopedFd* file) {
  while (bytes > 0) {
    const ssize_t got = ReceiveBytes(socket, to, bytes, file);
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

ssize_t SendBytes(int socket, std::string_view bytes, int file, int flags) {
  Control control;
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  if (file >= 0) {
    head.msg_control = control.bytes;
    head.msg_controllen = sizeof(control.bytes);
    cmsghdr* const one = CMSG_FIRSTHDR(&head);
    one->cmsg_level = SOL_SOCKET;
    one->cmsg_type = SCM_RIGHTS;
    one->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(one), &file, sizeof(file));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &head, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t ReceiveBytes(int socket, char* to, std::size_t bytes, ScopedFd* file) {
  Control control;
  iovec part{to, bytes};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  if (file != nullptr) {
    head.msg_control = control.bytes;
    head.msg_controllen = CMSG_LEN(sizeof(int));  // its padding has another one
  }
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (const cmsghdr* const one = CMSG_FIRSTHDR(&head);
      got > 0 && one != nullptr && one->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(one), sizeof(fd));
    *file = ScopedFd(fd);
  }
  return got;
}

bool SendMessage(int socket, std::string_view text, int file) {
  const std::uint64_t bytes = text.size();
  char size[sizeof(bytes)];
  std::memcpy(size, &bytes, sizeof(bytes));
  const std::string whole = std::string(size, sizeof(size)) + std::string(text);
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t sent = SendBytes(socket, std::string_view(whole).substr(done),
                                   done == 0 ? file : -1, 0);
    if (sent <= 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

bool ReceiveMessage(int socket, std::uint64_t most_bytes, Message& message) {
  std::uint64_t bytes = 0;
  char size[sizeof(bytes)];
  message.file = ScopedFd();
  if (!ReceiveAll(socket, size, sizeof(size), &message.file)) return false;
  std::memcpy(&bytes, size, sizeof(bytes));
  if (bytes > most_bytes) return false;
  // Memory follows the bytes that come, not the size that is said.
  message.text.clear();
  while (message.text.size() < bytes) {
    const std::size_t have = message.text.size();
    message.text.resize(have + std::min<std::uint64_t>(kPart, bytes - have));
    if (!ReceiveAll(socket, message.text.data() + have,
                    message.text.size() - have, nullptr)) {
      return false;
    }
  }
  return true;
}

}  // namespace countrace::base
