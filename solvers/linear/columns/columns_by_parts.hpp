#pragma once

#include "solvers/linear/columns/by_column.hpp"
#include "whilst/linear/linear_operator.hpp"

namespace whilst {

/// Vectors one after another in memory, as parts work on them, by pairs of columns.
template <class T>
struct whole_columns {
  T* first;
  index_type rows;
  int columns;

  WHILST_HD void put(index_type i, index_type pair, const column_pair<T>& entries) const {
    for (int j = 0; j < 2; ++j)
      if (2 * pair + j < columns) first[(2 * pair + j) * rows + i] = entries[j];
  }
  /// 0 beyond the last column.
  WHILST_HD column_pair<T> get(index_type i, index_type pair) const {
    column_pair<T> entries{};
    for (int j = 0; j < 2; ++j)
      if (2 * pair + j < columns) entries.value[j] = first[(2 * pair + j) * rows + i];
    return entries;
  }
};

/// A preconditioner in parts for the columns of a block of vectors: the step that makes R puts it where M reads it, and
/// the step after M turns M R back.
template <class T>
struct columns_by_parts {
  preconditioner<T>* parts;  ///< null for none; used while recording, never when the steps run
  whole_columns<T> R, MR;

  static columns_by_parts with_memory(preconditioner<T>* parts, const column_layout& of, workspace& memory) {
    if (!parts) return {};
    parts->take_memory_for_columns(of.rows, of.columns, memory);
    T* const R = memory.take<T>(of.rows * of.columns);
    T* const MR = memory.take<T>(of.rows * of.columns);
    return {parts, {R, of.rows, of.columns}, {MR, of.rows, of.columns}};
  }
  void apply(recorder& run) const { parts->apply_to_columns(run, R.rows, R.columns, R.first, MR.first); }
};

}  // namespace whilst
