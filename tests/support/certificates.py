"""Certificates of servers on loopback."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 signed by itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    signed = built.add_extension(address, critical=False).sign(key, hashes.SHA256())
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / "redis.pem"
    file.write_bytes(signed.public_bytes(Encoding.PEM) + secret)
    return file
