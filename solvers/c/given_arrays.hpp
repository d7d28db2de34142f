#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "solvers/c/handles.hpp"
#include "whilst/basics/index_type.hpp"

/// The arrays of a matrix as a caller gives them: integers of either width, counted from 0 or 1.
namespace whilst::c {

inline std::size_t length_of(index_type count, const char* name) {
  if (count < 0 || count == std::numeric_limits<index_type>::max())
    refuse(std::string(name) + " is " + std::to_string(count), "Pass a number that memory can hold");
  return static_cast<std::size_t>(count);
}

template <class Integer>
std::span<const Integer> integers(const void* data, std::size_t length, const char* name) {
  if (length == 0) return {};
  return {static_cast<const Integer*>(given(data, name)), length};
}

template <class T>
std::span<const T> values_given(const void* values, index_type nonzeros) {
  return integers<T>(values, length_of(nonzeros, "nonzeros"), "values");
}

/// Calls `use` with the integers as they are, or, where they count from 1, with a copy of them that counts from 0.
template <class Integer, class Use>
void use_from_zero(std::span<const Integer> given, int base, const Use& use) {
  if (base == 0) return use(given);
  std::vector<Integer> from_zero(given.begin(), given.end());
  for (Integer& one : from_zero)  // the least integer stays what it is, and wrong
    if (one > std::numeric_limits<Integer>::min()) --one;
  use(std::span<const Integer>(from_zero));
}

template <class Use>
void use_integers(const void* data, std::size_t length, int bits, int base, const char* name, const Use& use) {
  if (bits == 32)
    use_from_zero(integers<std::int32_t>(data, length, name), base, use);
  else if (bits == 64)
    use_from_zero(integers<std::int64_t>(data, length, name), base, use);
  else
    refuse(std::string(name) + " have " + std::to_string(bits) + " bits", "Pass 32 or 64");
}

inline void check_nonzeros(index_type counted, index_type nonzeros) {
  if (counted != nonzeros)
    refuse("row_offsets end with " + std::to_string(counted) + ", not with the number of nonzeros, " +
               std::to_string(nonzeros),
           "Pass the length of values as nonzeros, and the number of entries up to each row as row_offsets");
}

inline void check_base(int index_base) {
  if (index_base != 0 && index_base != 1)
    refuse("index_base is " + std::to_string(index_base), "Pass 0, or 1 as in Fortran");
}

}  // namespace whilst::c
