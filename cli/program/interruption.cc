#include "cli/program/interruption.h"

namespace countrace::cli {
namespace {

// Written by the handler, read by the program it interrupts.
volatile sig_atomic_t interruptions = 0;

void OnInterrupt(int) { interruptions = 1; }

}  // namespace

InterruptionGuard::InterruptionGuard() {
  interruptions = 0;
  sigaction(SIGINT, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  // Handles one signal only: a second one has its default effect. File reads
  // continue.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

InterruptionGuard::~InterruptionGuard() {
  sigaction(SIGINT, &before_, nullptr);
  interruptions = 0;
}

bool InterruptionGuard::interrupted() const { return interruptions != 0; }

bool IsInterrupted() { return interruptions != 0; }

}  // namespace countrace::cli
