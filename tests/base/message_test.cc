// Messages between programs of ours, one of which may be in the power of a
// hostile file.
#include "base/jail/message.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace countrace::base {
namespace {

struct Part {
  std::string text;
  std::vector<std::uint64_t> numbers;
  bool flag = false;

  static auto Fields(auto& self) {
    return std::tie(self.text, self.numbers, self.flag);
  }
};

std::ptrdiff_t OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

class Pair {
 public:
  Pair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    one_ = ScopedFd(ends[0]);
    other_ = ScopedFd(ends[1]);
  }
  int one() const { return one_.get(); }
  int other() const { return other_.get(); }

  // As no program of ours does.
  void Send(const std::string& bytes, const std::vector<int>& files) const {
    std::vector<char> control(CMSG_SPACE(files.size() * sizeof(int)));
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&head);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
    REQUIRE(sendmsg(one(), &head, 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  ScopedFd one_, other_;
};

TEST_CASE("message: fields are read as they were written") {
  const std::vector<Part> parts = {{"text", {1, ~std::uint64_t{0}}, true},
                                   {std::string("\0", 1), {}, false}};
  const std::string text = MessageOf(std::uint32_t{7}, parts);
  std::uint32_t number = 0;
  std::vector<Part> read;
  REQUIRE((MessageReader(text) >> number >> read).is_whole());
  CHECK(number == 7);
  CHECK(MessageOf(number, read) == text);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    CHECK_FALSE((MessageReader(cut) >> number >> read).is_whole());
  }
  CHECK_FALSE((MessageReader(text + "x") >> number >> read).is_whole());
}

TEST_CASE("message: a number of fields that are not there takes no memory") {
  std::vector<Part> read;
  const std::string text = MessageOf(~std::uint64_t{0}, "one");
  CHECK_FALSE((MessageReader(text) >> read).is_whole());
  CHECK(read.empty());
}

TEST_CASE("message: has one descriptor, and others are closed") {
  const Pair pair;
  const ScopedFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::ptrdiff_t before = OpenDescriptors();
  Message message;
  REQUIRE(SendMessage(pair.one(), "text", null.get()));
  REQUIRE(ReceiveMessage(pair.other(), 100, message));
  CHECK(message.text == "text");
  CHECK(message.file.is_open());
  CHECK(OpenDescriptors() == before + 1);
  const std::string size = MessageOf(std::uint64_t{4});
  for (const std::size_t files : {2, 3, 200}) {
    // Behind the size, with it, and in two messages.
    pair.Send(size, std::vector<int>(files, null.get()));
    pair.Send("te", std::vector<int>(files, null.get()));
    pair.Send("xt", {null.get()});
    REQUIRE(ReceiveMessage(pair.other(), 100, message));
    CHECK(message.text == "text");
    CHECK(message.file.is_open());
    CHECK(OpenDescriptors() == before + 1);
  }
  REQUIRE(SendMessage(pair.one(), "text"));
  REQUIRE(ReceiveMessage(pair.other(), 100, message));
  CHECK_FALSE(message.file.is_open());
  CHECK(OpenDescriptors() == before);
}

TEST_CASE("message: is refused if it is too long, or the end is closed") {
  Message message;
  {
    const Pair pair;
    REQUIRE(SendMessage(pair.one(), "four"));
    CHECK_FALSE(ReceiveMessage(pair.other(), 3, message));
  }
  Pair pair;
  shutdown(pair.one(), SHUT_RDWR);
  CHECK_FALSE(ReceiveMessage(pair.other(), 3, message));
  CHECK_FALSE(SendMessage(pair.other(), "text"));
}

}  // namespace
}  // namespace countrace::base
