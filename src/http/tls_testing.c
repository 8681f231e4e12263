/* TLS for the tests of this folder: a certificate, and the client's side of a handshake. */
#include "http/tls_testing.h"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

/* Key and certificate in one file, which lives until the server has read it. */
static void write_file(char path[])
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    X509 *certificate = make_certificate(key);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    fclose(file);
}

bool testing_tls_create(struct http_tls **out, struct err *err)
{
    char path[] = "/tmp/gramme-test-XXXXXX";
    write_file(path);
    struct str file = str_from_c(path);
    struct http_tls_options options = {.cert_file = file, .key_file = file};
    bool good = http_tls_create(&options, out, err);
    unlink(path);
    return good;
}

bool testing_open_server(const struct http_options *options, http_handler *handler, void *context,
                         struct http_server **out, struct err *err)
{
    struct http_options secure = *options;
    struct http_tls *tls = NULL;
    if (!TESTING_TLS) {
        return http_server_open(options, handler, context, out, err);
    }
    secure.listeners[0] = (struct http_listener){options->host, options->port, true};
    secure.listener_count = 1;
    return testing_tls_create(&tls, err) &&
           http_server_open_tls(&secure, tls, handler, context, out, err);
}

SSL *testing_tls_connect(int fd)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    assert_non_null(context);
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context); /* `ssl` holds it */
    assert_true(SSL_set_fd(ssl, fd) == 1);
    if (SSL_connect(ssl) != 1) {
        ERR_clear_error();
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_mode(ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return ssl;
}
