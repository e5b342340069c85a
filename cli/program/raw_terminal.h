// The terminal as a screen for a program that draws it as a whole: keys arrive
// at once and without an echo, the other screen is in front, the cursor is
// hidden. The destructor restores all of it, also after a signal that ends the
// program in an orderly way.
// Thread: the main one; one at a time.
#ifndef COUNTRACE_CLI_PROGRAM_RAW_TERMINAL_H_
#define COUNTRACE_CLI_PROGRAM_RAW_TERMINAL_H_

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace countrace::cli {

class RawTerminal final {
 public:
  // Requires: stdin and stdout are the same terminal.
  RawTerminal();
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // The terminal's size now; it may change. 0: it is not known.
  static std::size_t Columns();
  static std::size_t Lines();
  // False: the terminal is gone, or a signal ends the program.
  bool Write(std::string_view bytes);
  // Adds what was typed within `timeout_ns` to `keys`. False: as Write().
  bool Read(std::uint64_t timeout_ns, std::string& keys);

 private:
  termios before_{};
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_RAW_TERMINAL_H_
