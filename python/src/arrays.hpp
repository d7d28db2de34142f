#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <string>

#include "whilst/files/options_text.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst::python {

namespace nb = nanobind;

template <class T>
using input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const input<T>& array) {
  return {array.data(), array.shape(0)};
}
template <class T>
std::span<T> span_to(const output<T>& array) {
  return {array.data(), array.shape(0)};
}

/// The way in which Python's protocols give pointers.
template <class T>
const T* at(std::uintptr_t address) {
  return reinterpret_cast<const T*>(address);  // NOLINT
}
template <class T>
T* to(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT
}
inline stream_handle stream_at(std::uintptr_t address) { return reinterpret_cast<stream_handle>(address); }  // NOLINT

/// A preconditioner's name may have settings with commas behind it, which the text of other options cannot hold.
inline linear_solver_options read_options(const std::string& text, const std::string& preconditioner) {
  auto options = options_from_string<linear_solver_options>(text);
  options.preconditioner = preconditioner;
  return options;
}

}  // namespace whilst::python
