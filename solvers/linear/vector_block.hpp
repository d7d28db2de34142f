#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

/// Steps over some vectors of n entries, which lie in memory one after another.

/// The most products that a step makes: as many as a body can move in.
constexpr int products_at_once = 6;

/// The products of up to so many of them with y.
template <class T>
struct products_with_vectors {
  index_type n;
  int count;
  const T *vectors, *y;
  WHILST_HD auto operator()(index_type i) const {
    const double yi = static_cast<double>(y[i]);
    sums<double, products_at_once> made{};
    for (int k = 0; k < products_at_once; ++k)
      if (k < count) made.value[k] = static_cast<double>(vectors[k * n + i]) * yi;
    return made;
  }
  index_type bytes(index_type) const { return (count + 1) * n * static_cast<index_type>(sizeof(T)); }
};

/// Calls record(first, count) for as many of them at a time.
template <class Record>
void each_group_of_vectors(int count, const Record& record) {
  for (int first = 0; first < count; first += products_at_once)
    record(first, count - first < products_at_once ? count - first : products_at_once);
}

/// y without a combination of them; into may be y.
template <class T>
struct subtract_vectors {
  index_type n;
  int count;
  const T* vectors;
  const double* weights;
  const T* y;
  T* into;
  WHILST_HD void operator()(index_type i) const {
    double part = 0;
    for (int k = 0; k < count; ++k) part += weights[k] * static_cast<double>(vectors[k * n + i]);
    into[i] = static_cast<T>(static_cast<double>(y[i]) - part);
  }
  index_type bytes(index_type) const { return (count + 2) * n * static_cast<index_type>(sizeof(T)); }
};

}  // namespace whilst
