#include "memory/failing_new.hpp"

#include <cstdlib>
#include <new>

namespace gangsched::testing {
namespace failing_new {

long left = -1;  // allocations that succeed yet; −1: all
bool once = false, failed = false;
std::size_t count = 0;

bool fails() noexcept {
  ++count;
  if (left < 0) return false;
  if (left > 0) return --left, false;
  if (once && failed) return false;
  return failed = true;
}

void* take(std::size_t size) {
  void* const memory = fails() ? nullptr : std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

void* take(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  void* const memory = fails() ? nullptr : std::aligned_alloc(step, (size + step - 1) / step * step);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

}  // namespace failing_new

failing_allocation::failing_allocation(long nth, how when) noexcept {
  failing_new::once = when == how::once;
  failing_new::failed = false;
  failing_new::left = nth - 1;
}

bool failing_allocation::stop() noexcept {
  failing_new::left = -1;
  return failing_new::failed;
}

std::size_t allocations() noexcept { return failing_new::count; }

}  // namespace gangsched::testing

void* operator new(std::size_t size) { return gangsched::testing::failing_new::take(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return gangsched::testing::failing_new::take(size, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
// Who asks like this does without: std::stable_sort.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size != 0 ? size : 1); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
