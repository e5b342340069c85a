// Messages between `countrace` and a program of its own (inner_program.h): on a
// stream socket, each with its size, perhaps with a descriptor.
//
// Numbers are as the machine has them: both ends are of one build. What a
// jailed program sends is read as any untrusted bytes. Thread: one a side.
#ifndef COUNTRACE_BASE_JAIL_MESSAGE_H_
#define COUNTRACE_BASE_JAIL_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/posix/scoped_fd.h"

namespace countrace::base {

class MessageWriter {
 public:
  void Number(std::uint64_t value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    text_.append(bytes, sizeof(value));
  }
  void Text(std::string_view text) {
    Number(text.size());
    text_ += text;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Reads what a MessageWriter wrote. Of other bytes: numbers are 0 and texts are
// empty behind the first that is not there, and then good() is false.
class MessageReader {
 public:
  explicit MessageReader(std::string_view text) : left_(text) {}

  std::uint64_t Number() {
    std::uint64_t value = 0;
    if (!Has(sizeof(value))) return 0;
    std::memcpy(&value, left_.data(), sizeof(value));
    left_.remove_prefix(sizeof(value));
    return value;
  }
  std::string_view Text() {
    const std::uint64_t bytes = Number();
    if (!Has(bytes)) return {};
    const std::string_view text = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return text;
  }
  // How many things of at least `bytes` bytes follow.
  std::uint64_t Count(std::uint64_t bytes) {
    const std::uint64_t count = Number();
    if (count <= left_.size() / bytes) return count;
    Has(~std::uint64_t{0});
    return 0;
  }
  bool good() const { return good_; }
  bool at_end() const { return left_.empty(); }
  std::size_t left() const { return left_.size(); }  // bytes

 private:
  bool Has(std::uint64_t bytes) {
    if (bytes <= left_.size()) return true;
    good_ = false;
    left_ = {};
    return false;
  }

  std::string_view left_;
  bool good_ = true;
};

struct Message {
  std::string text;
  ScopedFd file;  // perhaps not open
};

// False: the other end is closed. `file`: -1 for none.
bool SendMessage(int socket, std::string_view text, int file = -1);
// False: the other end is closed, or the message has more than `most_bytes`.
bool ReceiveMessage(int socket, std::uint64_t most_bytes, Message& message);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_JAIL_MESSAGE_H_
