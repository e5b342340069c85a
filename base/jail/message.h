// Messages between `countrace` and a program of its own (inner_program.h): on a
// stream socket, each with its size, perhaps with a descriptor.
//
// Numbers are as the machine has them: both ends are of one build. What a
// jailed program sends is read as any untrusted bytes. Thread: one a side.
#ifndef COUNTRACE_BASE_JAIL_MESSAGE_H_
#define COUNTRACE_BASE_JAIL_MESSAGE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/posix/scoped_fd.h"

namespace countrace::base {

// The fields of a message are numbers, flags, enumerators, texts, vectors of
// fields, and structs whose static Fields(self) is a std::tie() of theirs.
template <typename T>
concept NumberField = std::is_integral_v<T> || std::is_enum_v<T>;

class MessageWriter {
 public:
  template <typename T>
  MessageWriter& operator<<(const T& field) {
    if constexpr (NumberField<T>) {
      Number(static_cast<std::uint64_t>(field));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      const std::string_view text = field;
      Number(text.size());
      text_ += text;
    } else if constexpr (requires { field.begin(); }) {
      static_assert(sizeof(*field.begin()) > 1);  // another kind of text
      Number(field.size());
      for (const auto& one : field) *this << one;
    } else {
      std::apply([this](const auto&... each) { (*this << ... << each); },
                 T::Fields(field));
    }
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void Number(std::uint64_t value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    text_.append(bytes, sizeof(value));
  }

  std::string text_;
};

template <typename... T>
std::string MessageOf(const T&... fields) {
  MessageWriter writer;
  (writer << ... << fields);
  return writer.text();
}

// Reads what a MessageWriter wrote. Of other bytes: numbers are 0, texts and
// vectors are empty behind the first that is not there.
class MessageReader {
 public:
  explicit MessageReader(std::string_view text) : left_(text) {}

  template <typename T>
  MessageReader& operator>>(T& field) {
    if constexpr (NumberField<T>) {
      field = static_cast<T>(Number());
    } else if constexpr (std::is_same_v<T, std::string>) {
      const std::uint64_t bytes = Number();
      if (bytes > left_.size()) Fail();
      field = left_.substr(0, bytes);
      left_.remove_prefix(field.size());
    } else if constexpr (requires { field.begin(); }) {
      // Memory follows the bytes that came, not the number that is said.
      field.clear();
      for (std::uint64_t left = Number(); left > 0 && good_; --left) {
        *this >> field.emplace_back();
      }
      if (!good_) field.clear();
    } else {
      std::apply([this](auto&... each) { (*this >> ... >> each); },
                 T::Fields(field));
    }
    return *this;
  }
  // All fields were there, and nothing else.
  bool is_whole() const { return good_ && left_.empty(); }

 private:
  std::uint64_t Number() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof(value)) {
      Fail();
      return 0;
    }
    std::memcpy(&value, left_.data(), sizeof(value));
    left_.remove_prefix(sizeof(value));
    return value;
  }
  void Fail() {
    good_ = false;
    left_ = {};
  }

  std::string_view left_;
  bool good_ = true;
};

struct Message {
  std::string text;
  ScopedFd file;  // perhaps not open
};

// Bytes alone, with a descriptor or -1. Returns: as sendmsg(2), whose `flags`
// these are.
ssize_t SendBytes(int socket, std::string_view bytes, int file, int flags);
// The kernel closes all descriptors that come with them, but the first one if
// there is a `file`. Returns: as recvmsg(2).
ssize_t ReceiveBytes(int socket, char* to, std::size_t bytes, ScopedFd* file);

// False: the other end is closed. `file`: -1 for none.
bool SendMessage(int socket, std::string_view text, int file = -1);
// False: the other end is closed, or the message has more than `most_bytes`.
bool ReceiveMessage(int socket, std::uint64_t most_bytes, Message& message);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_JAIL_MESSAGE_H_
