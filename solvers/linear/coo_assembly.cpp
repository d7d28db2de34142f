// compiled by nvcc where CUDA is on
#include "whilst/linear/coo_assembly.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "whilst/engine/recorder.hpp"
#include "whilst/host/choose_executor.hpp"

namespace whilst {
namespace {

constexpr std::string_view making_assembly = "making an assembly", assembling = "assembling a matrix";

/// Entry k of a matrix: the sum of values[order[e]] for starts[k] <= e < starts[k + 1].
template <class T>
struct sum_contributions {
  slot<const T> values;
  slot<T> entries;
  const std::int32_t *starts, *order;
  index_type count;  ///< of contributions, for bytes() only

  WHILST_HD void operator()(index_type k) const {
    const T* const from = values.get();
    double sum = 0;
    const std::int32_t end = read_constant(starts + k + 1);
    for (std::int32_t e = read_constant(starts + k); e < end; ++e)
      sum += static_cast<double>(from[read_constant(order + e)]);
    entries.get()[k] = static_cast<T>(sum);
  }
  index_type bytes(index_type n) const {
    return (count + n) * static_cast<index_type>(sizeof(std::int32_t) + sizeof(T));
  }
};

/// The CSR pattern, and which contributions each entry has, in the order in which they were given.
struct assembly_pattern {
  std::vector<std::int32_t> row_offsets, column_indices;
  std::vector<std::int32_t> starts{0}, order;
};

/// Indices as 32-bit ones. Throws on the first that is not below `end`.
std::vector<std::int32_t> checked_indices(const integer_array& given, const char* name, index_type end,
                                          const char* of_what) {
  return std::visit(
      [&](const auto& entries) {
        std::vector<std::int32_t> made(entries.size());
        for (std::size_t e = 0; e < entries.size(); ++e) {
          if (std::cmp_less(entries[e], 0) || std::cmp_greater_equal(entries[e], end))
            throw error(making_assembly,
                        std::string(name) + "[" + std::to_string(e) + "] is " + std::to_string(entries[e]) +
                            ", and the matrix has " + std::to_string(end) + " " + of_what,
                        end > 0 ? "Count " + std::string(of_what) + " from 0 to " + std::to_string(end - 1)
                                : "Give it no contributions");
          made[e] = static_cast<std::int32_t>(entries[e]);
        }
        return made;
      },
      given);
}

/// By counting contributions of each row, then by sorting each row.
assembly_pattern pattern_of(index_type rows, const std::vector<std::int32_t>& row_of,
                            const std::vector<std::int32_t>& column_of) {
  assembly_pattern made;
  std::vector<std::int32_t> first(static_cast<std::size_t>(rows) + 1, 0);
  for (const std::int32_t row : row_of) ++first[static_cast<std::size_t>(row) + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  made.order.resize(row_of.size());
  std::vector<std::int32_t> next(first.begin(), first.end() - 1);
  for (std::size_t e = 0; e < row_of.size(); ++e)
    made.order[static_cast<std::size_t>(next[static_cast<std::size_t>(row_of[e])]++)] = static_cast<std::int32_t>(e);

  const auto column = [&](std::int32_t e) { return column_of[static_cast<std::size_t>(e)]; };
  made.row_offsets.reserve(first.size());
  made.row_offsets.push_back(0);
  for (std::size_t i = 0; i + 1 < first.size(); ++i) {
    const auto begin = made.order.begin() + first[i], end = made.order.begin() + first[i + 1];
    std::stable_sort(begin, end, [&](std::int32_t a, std::int32_t b) { return column(a) < column(b); });
    for (auto here = begin; here != end; ++here) {
      const bool is_another = here == begin || column(*here) != made.column_indices.back();
      if (is_another) made.column_indices.push_back(column(*here));
      if (is_another && here != made.order.begin())
        made.starts.push_back(static_cast<std::int32_t>(here - made.order.begin()));
    }
    made.row_offsets.push_back(static_cast<std::int32_t>(made.column_indices.size()));
  }
  if (!made.order.empty()) made.starts.push_back(static_cast<std::int32_t>(made.order.size()));
  return made;
}

}  // namespace

template <class T>
struct coo_assembly<T>::implementation {
  index_type rows, columns;
  assembly_pattern pattern;
  place where;
  buffer<std::int32_t> row_offsets, column_indices;  ///< on a GPU
  declared_slot<const T> values;
  declared_slot<T> entries;
  std::unique_ptr<program> recorded;

  implementation(index_type rows, index_type columns, const integer_array& row_indices,
                 const integer_array& column_indices, const coo_assembly_options& options)
      : rows(rows), columns(columns), where(place::host()) {
    check(row_indices, column_indices);
    pattern = pattern_of(rows, checked_indices(row_indices, "row_indices", rows, "rows"),
                         checked_indices(column_indices, "column_indices", columns, "columns"));
    const executor_choice choice =
        choose_executor({.executor = options.executor, .device = options.device}, rows, false, {});
    where = choice.where;
    if (!where.on_host()) {
      row_offsets = on_place(pattern.row_offsets);
      this->column_indices = on_place(pattern.column_indices);
    }
    program_recorder record(where);
    values = record.slot<const T>("the contributions");
    entries = record.slot<T>("the entries");
    record.step(
        "add up contributions", nonzeros(),
        sum_contributions<T>{values, entries, record.uses("where contributions begin", on_place(pattern.starts)),
                             record.uses("order of contributions", on_place(pattern.order)), count()});
    recorded = std::make_unique<program>(std::move(record).finish());
    recorded->prepare({.how = choice.how, .check_pointers = options.check_pointers});
  }

  index_type count() const { return static_cast<index_type>(pattern.order.size()); }
  index_type nonzeros() const { return static_cast<index_type>(pattern.column_indices.size()); }

  void check(const integer_array& row_indices, const integer_array& column_indices) const {
    constexpr index_type most = std::numeric_limits<std::int32_t>::max();
    if (rows < 0 || columns < 0 || rows >= most || columns > most)
      throw error(making_assembly,
                  "there are " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
                  "Give 0 to 2147483646 of each");
    const auto size_of = [](const integer_array& array) {
      return std::visit([](const auto& all) { return all.size(); }, array);
    };
    const std::size_t row_count = size_of(row_indices), column_count = size_of(column_indices);
    if (row_count != column_count)
      throw error(making_assembly,
                  "row_indices has " + std::to_string(row_count) + " entries and column_indices " +
                      std::to_string(column_count),
                  "Give one of each for each contribution");
    if (std::cmp_greater(row_count, most))
      throw error(making_assembly, "there are " + std::to_string(row_count) + " contributions",
                  "Give at most 2147483647, or assemble parts");
  }
  buffer<std::int32_t> on_place(const std::vector<std::int32_t>& array) const {
    return buffer<std::int32_t>(where, static_cast<index_type>(array.size()), array.data());
  }
};

template <class T>
coo_assembly<T>::coo_assembly(index_type rows, index_type columns, const integer_array& row_indices,
                              const integer_array& column_indices, coo_assembly_options options)
    : implementation_(std::make_unique<implementation>(rows, columns, row_indices, column_indices, options)) {}
template <class T>
coo_assembly<T>::~coo_assembly() = default;
template <class T>
coo_assembly<T>::coo_assembly(coo_assembly&&) noexcept = default;
template <class T>
coo_assembly<T>& coo_assembly<T>::operator=(coo_assembly&&) noexcept = default;

template <class T>
index_type coo_assembly<T>::rows() const {
  return implementation_->rows;
}
template <class T>
index_type coo_assembly<T>::columns() const {
  return implementation_->columns;
}
template <class T>
index_type coo_assembly<T>::contributions() const {
  return implementation_->count();
}
template <class T>
index_type coo_assembly<T>::nonzeros() const {
  return implementation_->nonzeros();
}
template <class T>
std::string coo_assembly<T>::executor() const {
  return std::string(name(implementation_->recorded->running_on()));
}

template <class T>
csr_matrix<T> coo_assembly<T>::matrix(std::span<const T> values) const {
  if (std::cmp_not_equal(values.size(), contributions()))
    throw error(assembling,
                "there are " + std::to_string(values.size()) + " values for " + std::to_string(contributions()) +
                    " contributions",
                "Give one for each, in the order of the indices");
  const assembly_pattern& of = implementation_->pattern;
  const T *given = values.data(), *const *from = &given;
  std::vector<T> sums(of.column_indices.size());
  T *made = sums.data(), *const *into = &made;
  const sum_contributions<T> sum{{from}, {into}, of.starts.data(), of.order.data(), contributions()};
  for (index_type k = 0; k < nonzeros(); ++k) sum(k);
  return csr_matrix<T>::adopt(rows(), columns(), of.row_offsets, of.column_indices, std::move(sums));
}

template <class T>
csr_matrix<T> coo_assembly<T>::matrix_with(const T* entries) const {
  const implementation& of = *implementation_;
  if (of.where.on_host())
    return csr_matrix<T>::borrow(rows(), columns(), of.pattern.row_offsets, of.pattern.column_indices,
                                 {entries, of.pattern.column_indices.size()});
  return csr_matrix<T>::on_device(rows(), columns(), nonzeros(), of.row_offsets.data(), of.column_indices.data(),
                                  entries);
}

template <class T>
void coo_assembly<T>::enqueue(stream_handle stream, const T* values, T* entries) {
  if (nonzeros() == 0) return;
  implementation& of = *implementation_;
  const turns::turn mine = of.recorded->enter(assembling);
  of.recorded->bind(of.values, values);
  of.recorded->bind(of.entries, entries);
  of.recorded->enqueue(stream);
}

template <class T>
void coo_assembly<T>::wait() const {
  implementation_->recorded->wait();
}

template class coo_assembly<float>;
template class coo_assembly<double>;

}  // namespace whilst
