// MPI 5.0 chapter 3: sends, receives, probes. Arguments have been checked by the shells.
#include "core/request/point_to_point.h"

#include <cstdlib>
#include <cstring>

#include "api/generated/calls.h"
#include "core/error/error.h"
#include "core/request/buffered.h"
#include "core/request/messages.h"
#include "core/request/probe.h"
#include "core/request/requests.h"
#include "core/request/status.h"

namespace meantime::api {
namespace {

using core::Mode;
using core::Operation;
using core::receive_of;

Operation send_of(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
                  Mode mode = Mode::standard) {
  return core::send_of(buf, count, datatype, dest, tag, core::ContextOffset::point_to_point, mode);
}

int start_user_send(const Operation& send, Communicator& comm, MPI_Request* request) {
  Request* started = nullptr;
  const int result = core::start_send(send, comm, &started);
  if (result == MPI_SUCCESS) {
    *request = (started != nullptr ? started : core::completed_send)->handle();
  }
  return result;
}

int make_persistent_send(const Operation& operation, Communicator& comm, MPI_Request* request) {
  auto* send = new core::SendRequest(operation, comm);
  send->persistent = true;
  send->active = false;
  *request = send->handle();
  return MPI_SUCCESS;
}

}  // namespace

int Send(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
         Communicator& comm) {
  return core::send(send_of(buf, count, datatype, dest, tag), comm);
}

int Ssend(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
          Communicator& comm) {
  return core::send(send_of(buf, count, datatype, dest, tag, Mode::synchronous), comm);
}

int Rsend(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
          Communicator& comm) {
  return core::send(send_of(buf, count, datatype, dest, tag, Mode::ready), comm);
}

int Bsend(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
          Communicator& comm) {
  return core::buffered_send(buf, count, datatype, dest, tag, comm);
}

int Isend(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
          Communicator& comm, MPI_Request* request) {
  return start_user_send(send_of(buf, count, datatype, dest, tag), comm, request);
}

int Issend(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
           Communicator& comm, MPI_Request* request) {
  return start_user_send(send_of(buf, count, datatype, dest, tag, Mode::synchronous), comm,
                         request);
}

int Irsend(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
           Communicator& comm, MPI_Request* request) {
  return start_user_send(send_of(buf, count, datatype, dest, tag, Mode::ready), comm, request);
}

int Ibsend(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
           Communicator& comm, MPI_Request* request) {
  const int result = core::buffered_send(buf, count, datatype, dest, tag, comm);
  if (result == MPI_SUCCESS) {
    *request = core::completed_send->handle();
  }
  return result;
}

int Recv(void* buf, MPI_Count count, Datatype& datatype, int source, int tag, Communicator& comm,
         MPI_Status* status) {
  return core::receive(receive_of(buf, count, datatype, source, tag), comm, status);
}

int Irecv(void* buf, MPI_Count count, Datatype& datatype, int source, int tag, Communicator& comm,
          MPI_Request* request) {
  Request* started = nullptr;
  const int result =
      core::start_receive(receive_of(buf, count, datatype, source, tag), comm, &started);
  if (result == MPI_SUCCESS) {
    *request = started->handle();
  }
  return result;
}

int Send_init(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
              Communicator& comm, MPI_Request* request) {
  return make_persistent_send(send_of(buf, count, datatype, dest, tag), comm, request);
}

int Ssend_init(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
               Communicator& comm, MPI_Request* request) {
  return make_persistent_send(send_of(buf, count, datatype, dest, tag, Mode::synchronous), comm,
                              request);
}

int Rsend_init(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
               Communicator& comm, MPI_Request* request) {
  return make_persistent_send(send_of(buf, count, datatype, dest, tag, Mode::ready), comm, request);
}

int Bsend_init(const void* buf, MPI_Count count, Datatype& datatype, int dest, int tag,
               Communicator& comm, MPI_Request* request) {
  return make_persistent_send(send_of(buf, count, datatype, dest, tag, Mode::buffered), comm,
                              request);
}

int Recv_init(void* buf, MPI_Count count, Datatype& datatype, int source, int tag,
              Communicator& comm, MPI_Request* request) {
  auto* receive = new core::ReceiveRequest(receive_of(buf, count, datatype, source, tag), comm);
  receive->persistent = true;
  receive->active = false;
  *request = receive->handle();
  return MPI_SUCCESS;
}

int Sendrecv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, int dest, int sendtag,
             void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int source, int recvtag,
             Communicator& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    core::set_null_process_status(status);
    return core::send(send_of(sendbuf, sendcount, sendtype, dest, sendtag), comm);
  }
  return core::send_receive(send_of(sendbuf, sendcount, sendtype, dest, sendtag),
                            receive_of(recvbuf, recvcount, recvtype, source, recvtag), comm,
                            status);
}

int Sendrecv_replace(void* buf, MPI_Count count, Datatype& datatype, int dest, int sendtag,
                     int source, int recvtag, Communicator& comm, MPI_Status* status) {
  core::PackedCopy copy(buf, count, datatype);
  return copy.data() == nullptr
             ? fail(MPI_ERR_NO_MEM, "no memory for a copy of {} elements", count)
             : Sendrecv(copy.data(), copy.bytes(), *resolve(MPI_BYTE), dest, sendtag, buf, count,
                        datatype, source, recvtag, comm, status);
}

int Isendrecv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int source, int recvtag,
              Communicator& comm, MPI_Request* request) {
  Request* receive = nullptr;
  Request* send = nullptr;
  int result = core::start_receive(receive_of(recvbuf, recvcount, recvtype, source, recvtag), comm,
                                   &receive);
  if (result == MPI_SUCCESS) {
    result = core::start_send(send_of(sendbuf, sendcount, sendtype, dest, sendtag), comm, &send);
  }
  if (result != MPI_SUCCESS) {
    if (receive != nullptr) {
      receive->cancel();
      core::finish(receive, MPI_STATUS_IGNORE);
    }
    return result;
  }
  std::vector<Request*> parts;
  if (send != nullptr) {
    parts.push_back(send);
  }
  parts.push_back(receive);
  *request = (new core::BundleRequest(std::move(parts), comm))->handle();
  return MPI_SUCCESS;
}

int Isendrecv_replace(void* buf, MPI_Count count, Datatype& datatype, int dest, int sendtag,
                      int source, int recvtag, Communicator& comm, MPI_Request* request) {
  core::PackedCopy copy(buf, count, datatype);
  if (copy.data() == nullptr) {
    return fail(MPI_ERR_NO_MEM, "no memory for a copy of {} elements", count);
  }
  const int result = Isendrecv(copy.data(), copy.bytes(), *resolve(MPI_BYTE), dest, sendtag, buf,
                               count, datatype, source, recvtag, comm, request);
  if (result == MPI_SUCCESS) {
    reinterpret_cast<core::BundleRequest*>(*request)->scratch = copy.release();
  }
  return result;
}

// --- probes

int Probe(int source, int tag, Communicator& comm, MPI_Status* status) {
  core::probe(source, tag, comm, status);
  return MPI_SUCCESS;
}

int Iprobe(int source, int tag, Communicator& comm, int* flag, MPI_Status* status) {
  *flag = core::look(source, tag, comm, status) ? 1 : 0;
  return MPI_SUCCESS;
}

int Mprobe(int source, int tag, Communicator& comm, MPI_Message* message, MPI_Status* status) {
  *message = core::matched_probe(source, tag, comm, status);
  return MPI_SUCCESS;
}

int Improbe(int source, int tag, Communicator& comm, int* flag, MPI_Message* message,
            MPI_Status* status) {
  MPI_Message found = core::matched_look(source, tag, comm, status);
  *flag = found != MPI_MESSAGE_NULL ? 1 : 0;
  if (*flag != 0) {
    *message = found;
  }
  return MPI_SUCCESS;
}

int Imrecv(void* buf, MPI_Count count, Datatype& datatype, MPI_Message* message,
           MPI_Request* request) {
  Request* started = nullptr;
  const int result = core::receive_message(buf, count, datatype, message, &started);
  if (result == MPI_SUCCESS) {
    *request = started->handle();
  }
  return result;
}

int Mrecv(void* buf, MPI_Count count, Datatype& datatype, MPI_Message* message,
          MPI_Status* status) {
  Request* started = nullptr;
  const int result = core::receive_message(buf, count, datatype, message, &started);
  return result != MPI_SUCCESS ? result : core::finish(started, status);
}

// --- attached buffers

int Buffer_attach(void* buffer, MPI_Count size) {
  return core::attach_buffer(core::process_buffer(), buffer, size);
}

int Buffer_detach(void* buffer_addr, MPI_Count* size) {
  return core::detach_buffer(core::process_buffer(), static_cast<void**>(buffer_addr), size);
}

int Buffer_flush() {
  return core::flush_buffer(core::process_buffer());
}

int Buffer_iflush(MPI_Request* request) {
  *request = core::start_flush(core::process_buffer())->handle();
  return MPI_SUCCESS;
}

int Comm_attach_buffer(Communicator& comm, void* buffer, MPI_Count size) {
  return core::attach_buffer(comm.buffer, buffer, size);
}

int Comm_detach_buffer(Communicator& comm, void* buffer_addr, MPI_Count* size) {
  return core::detach_buffer(comm.buffer, static_cast<void**>(buffer_addr), size);
}

int Comm_flush_buffer(Communicator& comm) {
  return core::flush_buffer(comm.buffer);
}

int Comm_iflush_buffer(Communicator& comm, MPI_Request* request) {
  *request = core::start_flush(comm.buffer)->handle();
  return MPI_SUCCESS;
}

}  // namespace meantime::api
